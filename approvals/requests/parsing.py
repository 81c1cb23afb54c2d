"""What people send to decide: the body of a request, and a frame of the socket. Nothing unknown is passed over."""

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tenants.errors import Refused
from tools.errors import ToolValidationError
from tools.schemas import arguments

# Arguments that an approver edited, with a reason beside them; `arguments.read` has the last word.
MAX_BYTES = arguments.MAX_BYTES
VERDICTS = ("approve", "deny")
# What a frame holds beside that.
ADDRESS = ("type", "id", "ref")
_HASH = re.compile(r"[0-9a-f]{64}")
_REF = re.compile(r"[\x20-\x7e]{1,100}")


@dataclass(frozen=True, slots=True)
class Said:
    """An approver's reason; the arguments that they want instead and the `params_hash` that they have seen, or None."""

    reason: str
    arguments: dict[str, Any] | None
    seen: str | None


def read(raw: bytes | str) -> dict[str, Any]:
    """The JSON object in `raw`, read as strictly as a model's arguments; nothing at all is {}. Raises Refused."""
    try:
        text = raw if isinstance(raw, str) else raw.decode()
        return arguments.parse(text)
    except UnicodeDecodeError:
        raise Refused("What was sent is not UTF-8.") from None
    except ToolValidationError as error:
        raise Refused(f"What was sent cannot be taken. {error.message}", error.field) from None


def said(given: dict[str, Any], verdict: str, beside: Collection[str] = ()) -> Said:
    """What goes with a verdict; `beside` are names that something else reads. Raises Refused with the field at fault.

    A name that is not known is refused: one that is misspelt would let through what was to be changed.
    """
    known = {"reason", "seen", *beside} | ({"arguments"} if verdict == "approve" else set())
    for name in given:
        if name not in known:
            raise Refused(f"{arguments.shown(name)} is not known here.", arguments.shown(name))
    reason, edited = given.get("reason"), given.get("arguments")
    if reason is not None and not isinstance(reason, str):
        raise Refused("reason must be a string.", "reason")
    if edited is not None and not isinstance(edited, dict):
        raise Refused("arguments must be an object.", "arguments")
    return Said(reason or "", edited, hash_seen(given.get("seen")))


def hash_seen(value: Any) -> str | None:
    """The `params_hash` that somebody says they have seen, or None where they say nothing. Raises Refused."""
    if value is None or (isinstance(value, str) and _HASH.fullmatch(value)):
        return value
    raise Refused("seen must be the params_hash of the arguments that you were shown: 64 hexadecimal digits.", "seen")


def ref(given: dict[str, Any]) -> str | int | None:
    """What a frame's answer is to be recognised by: an integer, or up to 100 characters of ASCII. Raises Refused."""
    value = given.get("ref")
    if value is None or type(value) is int or (isinstance(value, str) and _REF.fullmatch(value)):
        return value
    raise Refused("ref must be an integer, or 1 to 100 printable ASCII characters.", "ref")


def address(given: dict[str, Any]) -> tuple[str, uuid.UUID]:
    """The verdict of a frame `{"type", "id", …}`, and the request that it is about. Raises Refused."""
    verdict = given.get("type")
    if not isinstance(verdict, str) or verdict not in VERDICTS:
        raise Refused("type must be approve or deny.", "type")
    try:
        return verdict, uuid.UUID(given.get("id"))
    except (ValueError, TypeError, AttributeError):
        raise Refused("id must be an approval request's UUID.", "id") from None
