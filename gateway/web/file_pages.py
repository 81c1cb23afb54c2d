"""The files of a conversation: the list beside the chat, and a page for each with its versions and what changed."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST, require_safe

from gateway.models import Conversation
from gateway.providers import media
from gateway.runs.conversations import search as conversation_search
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tools.files import content
from tools.files.paths import MAX_CHARACTERS
from tools.keeping import files
from tools.models import File

SHOWN = 100
# Of a text or a diff; the rest is downloaded.
SHOWN_CHARACTERS = 100_000


@require_safe
@ensure_csrf_cookie
@signed_in
def file_list(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """The files of one of the viewer's conversations, those after the path `?after=`; htmx is answered the list."""
    conversation = _conversation(request, id)
    after = request.GET.get("after", "").replace("\0", "")[:MAX_CHARACTERS]
    found = list(files.own(request.principal, id).filter(path__gt=after)[: SHOWN + 1])
    context = {
        "conversation": conversation,
        "files": found[:SHOWN],
        "older": found[SHOWN - 1].path if len(found) > SHOWN else "",
        "attachable": media.EVERY,
        "removed": list(files.removed(request.principal, id)[:SHOWN]) if not after else [],
    }
    if request.htmx and not request.htmx.history_restore_request:  # type: ignore[attr-defined]
        response = render(request, "chat/file_list.html", context | {"chat": True})
    else:
        response = render(request, "chat/files.html", context | frame(request, "chat"))
    patch_vary_headers(response, ["HX-Request"])
    response["Cache-Control"] = "private, no-store"
    return response


@require_safe
@signed_in
def file(request: SignedInRequest, id: uuid.UUID, file_id: uuid.UUID) -> HttpResponse:
    """One file: its newest text, its versions, and what differs from `?from=` to `?to=`."""
    conversation, row = _conversation(request, id), _file(request, id, file_id)
    versions = list(files.versions(row))
    numbers = {version.version for version in versions}
    after = _number(request, "to", row.version)
    before = _number(request, "from", max(0, after - 1))
    if after not in numbers or not (before == 0 or before in numbers):
        before, after = 0, row.version
    text = diff = None
    if row.plain:
        text = (files.bytes_of(row, row.version) or b"").decode("utf-8", "replace")
        diff = files.difference(row, before, after)
    context: dict[str, Any] = {
        "conversation": conversation,
        "row": row,
        "versions": versions,
        "text": text[:SHOWN_CHARACTERS] if text is not None else None,
        "cut": text is not None and len(text) > SHOWN_CHARACTERS,
        "diff": _lines(diff),
        "compared": diff is not None,
        "before": before,
        "after": after,
    }
    response = render(request, "chat/file.html", context | frame(request, "chat"))
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@signed_in
def delete_file(request: SignedInRequest, id: uuid.UUID, file_id: uuid.UUID) -> HttpResponse:
    """Delete a file of the viewer's with all its versions, unless it was changed since it was read."""
    _conversation(request, id)
    row = _removed(request, id, file_id) or _file(request, id, file_id)
    seen = request.POST.get("seen", "")
    try:
        files.delete(row, seen=int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 10 else 0)
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
        return redirect("conversation-files", id) if row.deleted else redirect("conversation-file", id, file_id)
    messages.success(request, f"Deleted {row.path} with all its versions.")
    return redirect("conversation-files", id)


@require_POST
@signed_in
def restore_file(request: SignedInRequest, id: uuid.UUID, file_id: uuid.UUID) -> HttpResponse:
    """Bring back a file of the viewer's that a tool deleted."""
    _conversation(request, id)
    row = _removed(request, id, file_id)
    if row is None:
        raise Http404
    try:
        if files.restore(request.principal, row) is None:
            raise Http404
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
        return redirect("conversation-files", id)
    messages.success(request, f"{row.path} is back.")
    return redirect("conversation-file", id, file_id)


def _conversation(request: SignedInRequest, id: uuid.UUID) -> Conversation:
    found = conversation_search.own(request.principal).filter(id=id).first()
    if found is None:
        raise Http404
    return found


def _file(request: SignedInRequest, id: uuid.UUID, file_id: uuid.UUID) -> File:
    found = files.own(request.principal, id).filter(id=file_id).first()
    if found is None:
        raise Http404
    return found


def _removed(request: SignedInRequest, id: uuid.UUID, file_id: uuid.UUID) -> File | None:
    return files.removed(request.principal, id).filter(id=file_id).first()


def _number(request: SignedInRequest, name: str, given: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else given


def _lines(diff: str | None) -> list[tuple[str, str]]:
    """The lines of a diff with what each is: "add", "remove", "place" or "same"."""
    kinds = {"+": "add", "-": "remove", "@": "place"}
    # Its first two lines name the versions, which the page does already.
    lines = content.lines_of((diff or "")[:SHOWN_CHARACTERS])[2:]
    return [(kinds.get(line[:1], "same"), line) for line in lines]


urlpatterns = [
    path("<uuid:id>/files/", file_list, name="conversation-files"),
    path("<uuid:id>/files/<uuid:file_id>/", file, name="conversation-file"),
    path("<uuid:id>/files/<uuid:file_id>/delete/", delete_file, name="conversation-file-delete"),
    path("<uuid:id>/files/<uuid:file_id>/restore/", restore_file, name="conversation-file-restore"),
]
