"""What a file holds: its type by its own bytes, its text, its lines, replacing in it, and what differs."""

import difflib
from dataclasses import dataclass

from tools.errors import ToolExecutionError, ToolValidationError

# What of a content says of which type it is; whatever a client claims is not believed.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_CONTROL = bytes(range(32)).translate(None, b"\t\n\r") + b"\x7f"
# Of places where a text occurs, those that are counted.
MOST_COUNTED = 1000
# Lines that are compared; what is longer is compared by its length alone.
MOST_COMPARED = 20_000


@dataclass(frozen=True, slots=True)
class Kind:
    """A content's media type, and whether it is text: UTF-8 without control characters but newline, tab and return."""

    media_type: str
    plain: bool


def kind_of(body: bytes) -> Kind:
    """What the bytes are."""
    for signature, media_type in _SIGNATURES:
        if body.startswith(signature):
            return Kind(media_type, False)
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return Kind("image/webp", False)
    return Kind("text/plain", True) if _is_text(body) else Kind("application/octet-stream", False)


def _is_text(body: bytes) -> bool:
    if len(body.translate(None, _CONTROL)) < len(body):
        return False
    try:
        # C1, the other control characters: U+0080 to U+009F.
        text = body.decode()
    except UnicodeDecodeError:
        return False
    return not any("\x80" <= each <= "\x9f" for each in set(text))


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends; a newline at the end begins no line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def replaced(text: str, old: str, new: str) -> str:
    """The text with its one occurrence of `old` replaced. Raises ToolExecutionError when there is none, or more.

    Where every line of the text ends in CRLF, so do those of `old` and `new`.
    """
    if old == new:
        raise ToolValidationError('"old" and "new" are the same; nothing would change.', "new")
    if "\r\n" in text and text.count("\n") == text.count("\r\n"):
        old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
    at = text.find(old)
    if at < 0:
        raise ToolExecutionError(
            '"old" does not occur in the file; nothing was changed. Read the file, and give the text exactly as it is, '
            "with its spaces and line ends."
        )
    count = occurrences(text, old)
    if count > 1:
        said = f"more than {MOST_COUNTED:,}" if count > MOST_COUNTED else f"{count:,}"
        raise ToolExecutionError(
            f'"old" occurs {said} times in the file; nothing was changed. Give more of the text around the one that is '
            "meant."
        )
    return text[:at] + new + text[at + len(old) :]


def occurrences(text: str, part: str) -> int:
    """At how many places the text has the part, overlapping ones too; at most one more than MOST_COUNTED."""
    count, at = 0, text.find(part)
    while at >= 0 and count <= MOST_COUNTED:
        count += 1
        at = text.find(part, at + 1)
    return count


def difference(old: str, new: str, names: tuple[str, str]) -> str | None:
    """The unified diff from one text to the other; None where they are too long to be compared."""
    before, after = lines_of(old), lines_of(new)
    if len(before) + len(after) > MOST_COMPARED:
        return None
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))
