"""A chat request out of bytes: shape and bounds are checked here, and nowhere later."""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from gateway.http import bodies
from gateway.http.asgi import EVENT_STREAM
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from gateway.runs.preparation import ChatRequest
from gateway.runs.prompting import attachments
from tools.files import paths
from tools.files.attached import Wanted
from tools.files.paths import InvalidPath

MAX_CONTENT_BYTES = 1024 * 1024
# The content may be escaped character by character, and stands among other fields.
MAX_BODY_BYTES: int = settings.TOOLGATE_MAX_BODY_BYTES
MAX_WAIT_SECONDS = 24 * 3600
MAX_KEY_CHARACTERS = 255


@dataclass(frozen=True, slots=True)
class ParsedChat:
    """What was asked: the run, and how long to `wait` (seconds) for a human before answering."""

    request: ChatRequest
    wait: float


def chat(body: bytes, headers: Mapping[str, str]) -> ParsedChat:
    """A chat request from its body and its headers (lower-case names: accept, idempotency-key).

    Raises InvalidRequest with the field at fault, or ContentTooLarge.
    """
    if len(body) > MAX_BODY_BYTES:
        raise too_large()
    given = bodies.json_object(body, InvalidRequest)
    key = idempotency_key(headers.get("idempotency-key"))
    stream = _typed(given, "stream", bool) or EVENT_STREAM in headers.get("accept", "")
    request = ChatRequest(
        content=_content(given),
        conversation_id=_uuid(given, "conversation_id"),
        agent=_name(given, "agent"),
        model=_name(given, "model"),
        streams=bool(stream),
        idempotency_key=key,
        request_hash=_hash(given) if key is not None else None,
        attachments=_attachments(given),
    )
    return ParsedChat(request, wait(given))


def idempotency_key(given: str | None) -> str | None:
    """The header Idempotency-Key as it can be kept; None without one. Raises InvalidRequest."""
    if given is not None and not (0 < len(given) <= MAX_KEY_CHARACTERS and given.isprintable() and given.isascii()):
        raise InvalidRequest(f"Idempotency-Key must be 1 to {MAX_KEY_CHARACTERS} printable ASCII characters.")
    return given


def too_large() -> ContentTooLarge:
    """The refusal of a body beyond the bounds."""
    return ContentTooLarge(f"content may have up to {MAX_CONTENT_BYTES:,} bytes.", "content")


def _content(given: dict[str, Any]) -> str:
    content = given.get("content")
    if not isinstance(content, str):
        raise InvalidRequest("content must be a string.", "content")
    if not content.strip():
        raise InvalidRequest("content must not be empty.", "content")
    if "\x00" in content:
        raise InvalidRequest("content must not hold NUL characters.", "content")
    if len(content.encode()) > MAX_CONTENT_BYTES:
        raise too_large()
    return content


def _attachments(given: dict[str, Any]) -> tuple[Wanted, ...]:
    listed = given.get("attachments")
    if listed is None or listed == []:
        return ()
    if not isinstance(listed, list) or len(listed) > attachments.MOST:
        raise InvalidRequest(f"attachments must be a list of up to {attachments.MOST} files.", "attachments")
    if given.get("conversation_id") is None:
        raise InvalidRequest(
            "attachments are files of a conversation: begin one (POST /api/v1/conversations/), upload them there, and "
            "name it in conversation_id.",
            "conversation_id",
        )
    return tuple(_attachment(each, f"attachments[{at}]") for at, each in enumerate(listed))


def _attachment(given: Any, at: str) -> Wanted:
    if not isinstance(given, dict) or not isinstance(given.get("file"), str) or given.keys() - {"file", "version"}:
        raise InvalidRequest(f'{at} must be {{"file": path}} or {{"file": path, "version": number}}.', at)
    version = given.get("version")
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or not 0 < version < 2**31):
        raise InvalidRequest(f"{at}.version must be the number of a version.", f"{at}.version")
    try:
        return Wanted(paths.of_file(given["file"]), version)
    except InvalidPath as error:
        raise InvalidRequest(f"{at}.file: {error}", f"{at}.file") from None


def _typed(given: dict[str, Any], name: str, kind: type) -> Any:
    value = given.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidRequest(f"{name} must be a {_WORDS[kind]}.", name)
    return value


_WORDS: dict[type, str] = {bool: "boolean", str: "string"}


def _name(given: dict[str, Any], name: str) -> str | None:
    value: str | None = _typed(given, name, str)
    if value is not None and (not 0 < len(value) <= 200 or not value.isprintable()):
        raise InvalidRequest(f"{name} must be 1 to 200 printable characters.", name)
    return value


def _uuid(given: dict[str, Any], name: str) -> uuid.UUID | None:
    value = _typed(given, name, str)
    if value is None:
        return None
    try:
        return uuid.UUID(value)
    except ValueError:
        raise InvalidRequest(f"{name} must be a UUID.", name) from None


def wait(given: dict[str, Any]) -> float:
    """How long to wait, in seconds; 0 where nothing is said. Raises InvalidRequest."""
    value = given.get("wait", 0)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_WAIT_SECONDS:
        raise InvalidRequest(f"wait must be a number of seconds from 0 to {MAX_WAIT_SECONDS}.", "wait")
    return float(value)


def _hash(given: dict[str, Any]) -> bytes:
    """The same request has the same hash; how its answer is to be delivered does not count."""
    asked = {name: value for name, value in given.items() if name not in ("stream", "wait")}
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()
