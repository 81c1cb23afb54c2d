"""A form with files as it is sent: multipart/form-data (RFC 7578)."""

import base64
import binascii
import json
import mimetypes
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from services.execution.styles import pairs
from tools.errors import ToolValidationError

_TOKEN = "[A-Za-z0-9.+_-]{1,64}"
_MEDIA = re.compile(f"{_TOKEN}/{_TOKEN}( ?; ?{_TOKEN}={_TOKEN}){{0,3}}")
_JSON = "application/json"
# What would end a name within its quotes, as browsers write it.
_ESCAPED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


@dataclass(frozen=True, slots=True)
class Part:
    """One field; `media` may be "" for a plain text, and `file` is the name of a file."""

    name: str
    data: bytes
    media: str = ""
    file: str | None = None


def parts(name: str, called: str, value: Any, style: str, media: str) -> list[Part]:
    """The fields that the argument `name` is; raises ToolValidationError for what is no file where one belongs."""
    if value is None:
        return []
    if style == "file":
        return [_file(name, called, each, media) for each in (value if isinstance(value, list) else [value])]
    if media.endswith("json"):
        return [Part(called, _json(value), media)]
    if style == "repeat":
        members = value if isinstance(value, list) else [value]
        # By default an object is JSON, and says so.
        return [
            Part(called, _json(each), media or _JSON) if isinstance(each, dict | list) else _text(called, each, media)
            for each in members
        ]
    return [Part(each, text.encode(), media) for each, text in pairs(called, value, style)]


def encoded(given: Iterable[Part]) -> tuple[bytes, str]:
    """The body, and its Content-Type."""
    boundary = f"toolgate-{uuid.uuid4().hex}"
    lines = []
    for part in given:
        disposition = f'form-data; name="{part.name.translate(_ESCAPED)}"'
        if part.file is not None:
            disposition += f'; filename="{part.file.translate(_ESCAPED)}"'
        head = f"--{boundary}\r\nContent-Disposition: {disposition}\r\n"
        head += f"Content-Type: {part.media}\r\n\r\n" if part.media else "\r\n"
        lines += [head.encode(), part.data, b"\r\n"]
    return b"".join([*lines, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def _text(called: str, value: Any, media: str) -> Part:
    return Part(called, value.encode() if isinstance(value, str) else _json(value), media)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _file(name: str, called: str, value: Any, media: str) -> Part:
    given = value if isinstance(value, dict) else {}
    file, text, packed = given.get("name"), given.get("text"), given.get("base64")
    if not isinstance(file, str) or not file or not isinstance(packed if text is None else text, str):
        raise ToolValidationError(f"{name} is a file: an object with name, and with text or base64.", name)
    kind = given.get("media_type") or media or mimetypes.guess_type(file)[0] or "application/octet-stream"
    if not isinstance(kind, str) or not _MEDIA.fullmatch(kind):
        raise ToolValidationError(f"{name}.media_type must be a media type such as text/csv.", f"{name}.media_type")
    return Part(called, text.encode() if isinstance(text, str) else _unpacked(name, packed), kind, file)


def _unpacked(name: str, packed: Any) -> bytes:
    try:
        return base64.b64decode(packed, validate=True)
    except (ValueError, binascii.Error):
        raise ToolValidationError(f"{name}.base64 is not base64.", f"{name}.base64") from None
