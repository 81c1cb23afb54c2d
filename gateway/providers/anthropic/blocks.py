"""What an assistant said, as content blocks of the messages API: sent back to a model and shown to a client alike."""

from collections.abc import Iterable
from typing import Any

from gateway.providers.interface import Family, Opaque

FAMILY: Family = "anthropic"


def text(said: str, **extra: Any) -> dict[str, Any]:
    """A block of text; `extra` are its other fields."""
    return {"type": "text", "text": said, **extra}


def of(said: str, opaque: Iterable[Opaque]) -> list[dict[str, Any]]:
    """The opaque blocks as they were, and the text.

    A text block among the opaque ones is a piece of the text with its citations: it is at that piece's place, with the
    rest of the text around it.
    """
    blocks: list[dict[str, Any]] = []
    done = 0
    for part in opaque:
        if part.family != FAMILY:
            continue
        if part.raw.get("type") == "text":
            cited = part.raw.get("text") or ""
            at = said.find(cited, done)
            if at < 0:
                continue
            if at > done:
                blocks.append(text(said[done:at]))
            done = at + len(cited)
        blocks.append(part.raw)
    if done < len(said):
        blocks.append(text(said[done:]))
    return blocks
