"""The history as a file, with the filters of the page, however long it is."""

import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from audit.history import calls, downloads, filters, reads
from audit.history.export_slots import Slots
from audit.history.filters import Chosen
from audit.history.pages import FORMER, usernames
from audit.models import ToolCall
from tenants.login.access import SignedInRequest, signed_in
from tenants.models import User
from tenants.people.principal import Principal
from tenants.scope import transactions
from tenants.scope.routing import on_login

Write = Callable[[list[ToolCall]], Iterator[str]]
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
BATCH = 200
# The most output in memory at a time; a single one may be larger.
MOST_BYTES = 4 * 1024 * 1024
SLOTS = Slots()
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


async def _pieces(principal: Principal, chosen: Chosen, form: str) -> AsyncIterator[str]:
    """The file, piece by piece; each batch is read in a transaction of its own, so that a slow reader holds none."""
    await sync_to_async(_let_go)("default")
    if form == "csv":
        yield downloads.csv_head()
    write: Write = downloads.csv_lines if form == "csv" else downloads.jsonl
    before: uuid.UUID | None = None
    while found := await sync_to_async(_sizes)(principal, chosen, before):
        for part in _parts(found):
            yield await sync_to_async(_written)(principal, part, write)
        before = found[-1][0]


def _let_go(alias: str) -> None:
    """Release the request's connection: the client may read slowly."""
    connections[alias].close()


@contextmanager
def _reading(principal: Principal) -> Iterator[None]:
    """A transaction on one of the connections that only downloads have, waiting until one is free."""
    with _FREE:
        try:
            with on_login("export"), transactions.scope(principal.tenant_id, principal.user_id, using="export"):
                yield
        finally:
            _let_go("export")


def _sizes(principal: Principal, chosen: Chosen, before: uuid.UUID | None) -> list[tuple[uuid.UUID, int]]:
    """The next calls, with the size of each one's output."""
    with _reading(principal):
        listed = ToolCall.objects.only("id", "output_bytes")
        found = calls.page(principal, chosen.filters(principal), limit=BATCH, before=before, calls=listed)
        return [(call.id, call.output_bytes or 0) for call in found]


def _parts(found: list[tuple[uuid.UUID, int]]) -> list[list[uuid.UUID]]:
    """The same calls in parts that together do not exceed MOST_BYTES."""
    parts: list[list[uuid.UUID]] = [[]]
    held = 0
    for call_id, size in found:
        if held + size > MOST_BYTES and parts[-1]:
            parts.append([])
            held = 0
        parts[-1].append(call_id)
        held += size
    return parts


def _written(principal: Principal, ids: list[uuid.UUID], write: Write) -> str:
    with _reading(principal):
        whole = filters.marked_erased(ToolCall.objects.defer("row_key"))
        found = list(calls.visible(principal, whole).filter(id__in=ids).order_by("-id"))
        names = usernames({call.user_id for call in found})
    for call in found:
        call.username = names.get(call.user_id, FORMER)  # type: ignore[attr-defined]
    return "".join(write(found))
