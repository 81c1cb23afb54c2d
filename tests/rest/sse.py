"""Reading server-sent events as a client does."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx


class Event(NamedTuple):
    """One event as it came."""

    id: str
    name: str
    data: dict[str, Any]


def parse(text: str) -> list[Event]:
    """The events in a whole stream, comments left out."""
    return [event for block in text.split("\n\n") if (event := _event(block)) is not None]


def live(response: httpx.Response) -> Iterator[Event | str]:
    """Events as they come; comment lines as plain text."""
    held = ""
    for piece in response.iter_text():
        held += piece
        while "\n\n" in held:
            block, _, held = held.partition("\n\n")
            if block.startswith(":"):
                yield block
            elif (event := _event(block)) is not None:
                yield event


def _event(block: str) -> Event | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
    if not fields:
        return None
    assert set(fields) == {"id", "event", "data"}
    return Event(fields["id"], fields["event"], json.loads(fields["data"]))
