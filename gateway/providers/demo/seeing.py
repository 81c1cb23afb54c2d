"""What the demo model says of pictures and documents that it is shown: their type, and how large they are."""

import base64
import binascii
import struct

from gateway.providers.interface import Document, Image, Part
from gateway.providers.media import NAMES

# JPEG: the markers whose segment has height and width.
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def seen(parts: tuple[Part, ...]) -> list[str]:
    """A sentence for each picture and document."""
    return [_said(part) for part in parts if isinstance(part, Image | Document)]


def _said(part: Image | Document) -> str:
    kind = NAMES.get(part.media_type, part.media_type or "picture")
    try:
        body = base64.b64decode(part.data, validate=True)
    except binascii.Error:
        return f"I see a {kind}, and cannot read it."
    if isinstance(part, Document):
        name = f" {part.name}" if part.name else ""
        return f"I see a {kind}{name} of {len(body):,} bytes."
    size = _pixels(part.media_type, body)
    return f"I see a {kind} of {size[0]:,} × {size[1]:,} pixels." if size else f"I see a {kind} of {len(body):,} bytes."


def _pixels(media_type: str, body: bytes) -> tuple[int, int] | None:
    """Width and height, where the head of the picture says them."""
    try:
        if media_type == "image/png":
            return struct.unpack(">II", body[16:24])
        if media_type == "image/gif":
            return struct.unpack("<HH", body[6:10])
        if media_type == "image/jpeg":
            return _of_jpeg(body)
        if body[12:16] == b"VP8X":
            return 1 + int.from_bytes(body[24:27], "little"), 1 + int.from_bytes(body[27:30], "little")
    except (struct.error, IndexError):
        pass
    return None


def _of_jpeg(body: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(body) and body[at] == 0xFF:
        if body[at + 1] in _FRAMES:
            height, width = struct.unpack(">HH", body[at + 5 : at + 9])
            return width, height
        at += 2 + max(2, int.from_bytes(body[at + 2 : at + 4], "big"))
    return None
