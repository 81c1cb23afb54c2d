"""One's own notes."""

import uuid
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from tenants.models import User
from tenants.people.principal import Principal
from tools.keeping.errors import ChangedMeanwhile
from tools.models import Note

LONGEST_QUERY = 500
# Notes that a search shows at most.
FOUND = 100


def own(principal: Principal, *, tag: str = "") -> QuerySet[Note]:
    """The caller's notes, newest first; with `tag`, those filed under it."""
    notes = Note.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    notes = notes.order_by("-created_at", "-id")
    return notes.filter(tags__contains=[tag]) if tag else notes


def search(query: str, limit: int = FOUND) -> list[dict[str, Any]]:
    """The caller's notes that fit the words best, best first, as `{note_id, title, snippet, created_at}`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT note_id, title, snippet, created_at FROM find_notes(%s, %s)",
            [query[:LONGEST_QUERY].replace("\0", " "), limit],
        )
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def create(principal: Principal, *, title: str, content: str, tags: list[str]) -> Note:
    """A new note of the caller's."""
    language = User.objects.values_list("language", flat=True).get(pk=principal.user_id)
    note = Note(title=title, content=content, tags=tags, language=language)
    note.tenant_id, note.user_id = principal.tenant_id, principal.user_id
    note.save(force_insert=True)
    note.refresh_from_db()
    return note


def change(principal: Principal, id: uuid.UUID, changes: dict[str, Any], seen: datetime | None = None) -> Note | None:
    """Change title, content or tags; None when the caller has no such note.

    `seen` is the note's `updated_at` as the caller read it: ChangedMeanwhile when it is another by now.
    """
    note = own(principal).select_for_update().filter(pk=id).first()
    if note is None:
        return None
    if seen is not None and note.updated_at != seen:
        raise ChangedMeanwhile
    own(principal).filter(pk=id).update(**changes, updated_at=Now())
    note.refresh_from_db()
    return note
