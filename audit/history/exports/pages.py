"""The history as a file, with the filters of the page, however long it is."""

import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from audit.history import filters, reads
from audit.history.exports import formats
from audit.history.exports.batches import Batch, Wanted, next_batch, release
from audit.history.exports.process import ExportProcess
from audit.history.exports.slots import Slots
from audit.history.filters import Chosen
from tenants.login.access import SignedInRequest, signed_in
from tenants.models import User
from tenants.people.principal import Principal

TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
# How many calls are written at once: at first, in a thread beside the event loop, and later, in another process.
FIRST, BATCH = 100, 1000
PIECE = 128 * 1024
SLOTS = Slots()
PROCESS = ExportProcess()
SECONDS_WHEN_BUSY = 10
_FREE = threading.BoundedSemaphore(settings.EXPORT_POOL_SIZE)


@require_safe
@signed_in
def export(request: SignedInRequest, form: str) -> HttpResponse:
    """The calls that match the filters, newest first, as a CSV or JSONL file that is made while it is sent.

    An export of other people's calls is recorded before it begins, when their number is not known yet.
    """
    if form not in TYPES:
        raise Http404
    principal = request.principal
    give_back = SLOTS.take(principal.user_id)
    if give_back is None:
        response = render(request, "history/busy.html", {"seconds": SECONDS_WHEN_BUSY}, status=429)
        response["Retry-After"] = str(SECONDS_WHEN_BUSY)
        return response
    try:
        answer = _begun(principal, filters.chosen(request.GET), form)
    except BaseException:
        give_back()
        raise
    # Django closes a response however it ends, also one of which nothing was sent.
    answer._resource_closers.append(give_back)  # type: ignore[attr-defined]
    return answer  # type: ignore[return-value]


def _begun(principal: Principal, chosen: Chosen, form: str) -> StreamingHttpResponse:
    if principal.sees_whole_history:
        named = User.objects.filter(username=chosen.values.get("user", "")).values_list("id", flat=True).first()
        reads.record(
            reader_id=principal.user_id,
            shown={(principal.tenant_id, named): 0},
            action=reads.Action.EXPORT,
            via="page",
            filters=chosen.values | {"form": form},
        )
    response = StreamingHttpResponse(_pieces(principal, chosen, form), content_type=TYPES[form])
    name = f"toolgate-history-{principal.tenant_slug}-{datetime.now(UTC):%Y-%m-%d}.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


async def _pieces(principal: Principal, chosen: Chosen, form: str) -> AsyncIterator[bytes]:
    """The file, piece by piece; each batch is read in a transaction of its own, so that a slow reader holds none.

    The first calls are written here, and are all of a short file; the rest by a process of its own.
    """
    await sync_to_async(_let_go)("default")
    if form == "csv":
        yield formats.csv_head()
    batch = await sync_to_async(_first)(Wanted(principal, chosen, form, None, FIRST))
    yield batch.part
    while batch.before is not None:
        batch = await sync_to_async(PROCESS.next_batch)(Wanted(principal, chosen, form, batch.before, BATCH))
        # Sent in pieces: the event loop does nothing else while it takes one over.
        for start in range(0, len(batch.part), PIECE):
            yield batch.part[start : start + PIECE]


def _let_go(alias: str) -> None:
    """Release the request's connection: the client may read slowly."""
    connections[alias].close()


def _first(wanted: Wanted) -> Batch:
    """The first batch, on one of the connections that only downloads have, waiting until one is free."""
    with _FREE:
        try:
            return next_batch(wanted)
        finally:
            release()
