"""One's own notes, tasks, memories, canvases and files as a file of JSON lines, made while it is sent."""

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.db.models import Model, QuerySet

from tenants.people.principal import Principal
from tenants.scope import transactions
from tools.keeping import canvases, files, memories, notes, tasks
from tools.models import CanvasVersion, File, Memory, Note, Task

# Rows that are read at once; those of canvases may be large.
BATCH = 100
CANVASES = 10


async def lines(principal: Principal) -> AsyncIterator[bytes]:
    """A line for each note, then for each task, memory of the caller's own, version of a canvas and file, oldest first:
    `{"kind": "note" | "task" | "memory" | "canvas" | "file", …}`."""
    kinds: tuple[tuple[QuerySet[Any], Any, int], ...] = (
        (notes.own(principal), _note, BATCH),
        (tasks.own(principal), _task, BATCH),
        (memories.own(principal), _memory, BATCH),
        (canvases.every(principal), _canvas, CANVASES),
    )
    for rows, shown, at_once in kinds:
        async for batch in batches(principal, rows, at_once):
            yield b"".join(orjson.dumps(shown(row)) + b"\n" for row in batch)
    async for line in _files(principal):
        yield line


async def batches(principal: Principal, rows: QuerySet[Any], at_once: int) -> AsyncIterator[list[Any]]:
    """The caller's rows, oldest first, so many at once, each read in a transaction of its own."""
    last: Any = None
    while batch := await sync_to_async(_batch)(principal, rows, last, at_once):
        last = batch[-1]
        yield batch


async def _files(principal: Principal) -> AsyncIterator[bytes]:
    """A line for each file, with its newest content: one at a time, since each may be large."""
    async for batch in batches(principal, files.every(principal), BATCH):
        for row in batch:
            if (line := await sync_to_async(_file)(principal, row)) is not None:
                yield orjson.dumps(line) + b"\n"


def _batch(principal: Principal, rows: QuerySet[Any], last: Any, at_once: int) -> list[Model]:
    ordered = rows.order_by("created_at", "id")
    if last is not None:
        ordered = ordered.filter(created_at__gte=last.created_at).exclude(created_at=last.created_at, id__lte=last.id)
    with transactions.scope(principal.tenant_id, principal.user_id):
        return list(ordered[:at_once])


def _file(principal: Principal, file: Any) -> dict[str, Any] | None:
    """A file as the export has it, `text` or `base64` being what it holds; None when it is gone meanwhile."""
    with transactions.scope(principal.tenant_id, principal.user_id):
        row: File | None = files.every(principal).filter(id=file.id).first()
        body = files.bytes_of(row, row.version) if row is not None else None
    if row is None or body is None:
        return None
    return {
        "kind": "file",
        "id": row.id,
        "conversation_id": row.conversation_id,
        "path": row.path,
        "version": row.version,
        "media_type": row.media_type,
        "text": body.decode() if row.plain else None,
        "base64": None if row.plain else b64encode(body).decode(),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def line(kind: str, row: Model, *names: str) -> dict[str, Any]:
    """A row as it is written: its kind, and what it holds under these names."""
    return {"kind": kind} | {name: getattr(row, name) for name in names}


def _note(note: Note) -> dict[str, Any]:
    return line("note", note, "id", "title", "content", "tags", "created_at", "updated_at")


def _task(task: Task) -> dict[str, Any]:
    names = ("id", "title", "due_date", "priority", "status", "created_at", "completed_at")
    return line("task", task, *names) | {"due_date": task.due_text}


def _memory(memory: Memory) -> dict[str, Any]:
    names = ("id", "content", "tags", "scope", "agent", "taint", "source_call_id", "created_at")
    return line("memory", memory, *names) | {"agent": memory.agent or None}


def _canvas(version: CanvasVersion) -> dict[str, Any]:
    names = ("id", "conversation_id", "version", "title", "html", "css", "js", "created_at")
    return line("canvas", version, *names)
