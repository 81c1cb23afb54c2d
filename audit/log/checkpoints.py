"""The checkpoint file: every signed head, one a line, outside of the database.

    {"created_at": "2027-01-15T09:30:00.000000Z", "note": "toolgate/…\\n…"}

Whoever seals appends to it, one at a time. A line that a crash cut off is written again: the database has it.
"""

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from audit.calls.ledger import moment
from audit.log.errors import LogDiffers

_BLOCK = 64 * 1024


def path() -> Path:
    """Where the file is."""
    return Path(settings.TOOLGATE_CHECKPOINT_FILE)


def record(created_at: datetime, note: str) -> bytes:
    """A checkpoint as a line, without its end; the witness gets the same."""
    return orjson.dumps({"created_at": moment(created_at), "note": note})


def last_note() -> str | None:
    """The note of the last complete line; None without one. Raises LogDiffers when the line is something else."""
    try:
        with path().open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _BLOCK))
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return None
    if len(lines) < 2:
        return None
    try:
        return str(orjson.loads(lines[-2])["note"])
    except (ValueError, KeyError, TypeError):
        raise LogDiffers(f"the last line of {path()} is no checkpoint") from None


def append(rows: Iterable[dict[str, Any]]) -> None:
    """Add rows of `ledger_checkpoints`; returns once the disk has them."""
    path().parent.mkdir(parents=True, exist_ok=True)
    with path().open("ab+") as file:
        file.truncate(_length_of_lines(file.seek(0, os.SEEK_END)))
        file.write(b"".join(record(row["created_at"], row["note"]) + b"\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())


def _length_of_lines(end: int) -> int:
    """How long the file is without a line that was cut off."""
    if end == 0:
        return 0
    with path().open("rb") as file:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read().rfind(b"\n")
        return start + found + 1 if found >= 0 else start


def set_aside(name: str) -> Path | None:
    """Rename the file, so that a new log begins with none; returns its new path."""
    if not path().exists():
        return None
    aside = path().with_name(f"{path().stem}-{name}{path().suffix}")
    os.rename(path(), aside)
    return aside
