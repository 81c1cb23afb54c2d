"""How an audit row reads on a page: its words, and no character that hides or reorders others."""

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from audit.models import ErrorCode, Origin, Status

register = template.Library()

STATUS_WORDS = {
    Status.PROPOSED: "Proposed",
    Status.AWAITING_APPROVAL: "Waiting for approval",
    Status.QUEUED: "Queued",
    Status.CLAIMED: "Starting",
    Status.RUNNING: "Running",
    Status.SUCCESS: "Done",
    Status.ERROR: "Failed",
}
# Each code's short name, and its meaning for the user.
ERROR_WORDS = {
    ErrorCode.NOT_ALLOWED: ("Not allowed", "This tool does not exist here, or is switched off. It was not run."),
    ErrorCode.VALIDATION_ERROR: ("Invalid arguments", "The model filled in the tool's form wrongly. It was not run."),
    ErrorCode.PERMISSION_DENIED: ("Permission denied", "Your role may not use this tool. It was not run."),
    ErrorCode.POLICY_DENIED: ("Denied by policy", "A rule of your tenant forbids this call. It was not run."),
    ErrorCode.RATE_LIMITED: ("Too many calls", "This tool's limit is used up for now. It was not run."),
    ErrorCode.APPROVAL_DENIED: ("Not approved", "An approver said no. It was not run."),
    ErrorCode.APPROVAL_EXPIRED: ("Approval expired", "Nobody decided in time. It was not run."),
    ErrorCode.CANCELLED: ("Cancelled", "The call was withdrawn, or its run was stopped, before it was done."),
    ErrorCode.TIMEOUT: ("Timed out", "The tool took longer than it may."),
    ErrorCode.EXECUTION_ERROR: ("Failed", "The tool was run and reported an error."),
    ErrorCode.UNAVAILABLE: ("Unavailable", "The tool, or what guards it, cannot be reached right now."),
    ErrorCode.KILLED: ("Stopped", "A kill switch of your tenant or of the operator stops this. It was not run."),
    ErrorCode.OUTCOME_UNKNOWN: (
        "Outcome unknown",
        "The worker was lost while the tool ran. It may or may not have taken effect, so it is not tried again.",
    ),
}
ORIGIN_WORDS: dict[str, str] = {
    Origin.API: "Over the API, without a chat",
    Origin.MCP: "By an MCP client",
    Origin.SCHEDULE: "By a schedule",
    Origin.NATIVE: "Reported by a client that ran it itself",
}
# Asks the package that has the gates, which this one does not know, for a gate's labels: what it found when it let a
# call through and when it did not; None for a gate that is gone. `tools.apps` sets it.
Labels = Callable[[str], tuple[str, str] | None]
_labels: Labels | None = None
ICONS = {
    "web_search": "search",
    "web_fetch": "download",
    "save_note": "note",
    "search_notes": "note",
    "read_file": "file",
    "write_file": "file",
    "delete_file": "file",
    "edit_file": "file",
    "list_files": "file",
    "search_files": "file",
    "file_info": "file",
    "list_tasks": "list",
    "add_task": "task",
    "complete_task": "check",
    "update_task": "edit",
    "canvas": "chart",
    "send_email": "mail",
    "cancel_schedule": "wait",
    "create_reminder": "wait",
    "list_schedules": "wait",
    "memory_search": "note",
    "memory_store": "note",
    "message": "send",
    "run_schedule": "wait",
    "schedule": "wait",
}
# Control, format, surrogate, private and unassigned characters, and the two separators that break lines unseen.
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# They are part of ordinary text.
PLAIN = {"\n", "\t"}
JOINER = "\u200d"
# Letters and signs that draw nothing; the last range selects variants of other characters, and can carry a message.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)


def hides(text: str, index: int) -> bool:
    """Whether the character there is to be spelled out: it cannot be seen, or changes how others are seen."""
    char = text[index]
    if BLANK.match(char):
        return True
    if char in PLAIN or unicodedata.category(char) not in UNSEEN:
        return False
    if char == JOINER and 0 < index < len(text) - 1:
        # Between two emoji it draws one picture, and hides nothing.
        before = text[index - 1] if text[index - 1] != "\ufe0f" or index < 2 else text[index - 2]
        return not all(unicodedata.category(near) in {"So", "Sk"} for near in (before, text[index + 1]))
    return True


def _is_plain(text: str) -> bool:
    """Whether nothing in a text hides, as far as Python can tell at once; what it takes for odd may be plain."""
    return text.replace("\n", "").replace("\t", "").isprintable() and (text.isascii() or not BLANK.search(text))


@register.filter
def visible(value: object) -> str:
    """The text with each control, bidi or zero-width character spelled out, as in ‹U+202E›."""
    text = "" if value is None else str(value)
    if _is_plain(text):
        return text
    return "".join(f"‹U+{ord(char):04X}›" if hides(text, index) else char for index, char in enumerate(text))


@register.filter
def pretty(value: Any) -> str:
    """A JSON value, indented, in its own script, with nothing hidden in it."""
    return visible(json.dumps(value, indent=2, ensure_ascii=False))


@register.filter
def status_words(call: Any) -> str:
    """The call's state in a word or three; an error by its kind."""
    if call.status == Status.ERROR and call.error_code in ERROR_WORDS:
        return ERROR_WORDS[call.error_code][0]
    if call.status == Status.RUNNING and call.waits_on_run:
        return "Waits for its run"
    return str(STATUS_WORDS.get(call.status, call.status))


@register.filter
def breakable(name: object) -> SafeString:
    """A tool's name, which may be broken after a dot or an underscore."""
    return mark_safe(re.sub(r"(?<=[._])(?=[^._])", "<wbr>", escape(visible(name))))  # escaped before


@register.filter
def origin_words(origin: str) -> str:
    """How a call without a chat came in, for people."""
    return ORIGIN_WORDS.get(origin, visible(origin))


@register.filter
def error_meaning(code: str) -> str:
    """One sentence on what the error code means; empty for none."""
    return ERROR_WORDS[ErrorCode(code)][1] if code in ERROR_WORDS else ""


@register.filter
def gate_words(answer: dict[str, Any]) -> str:
    """What a gate found, from one entry of `decision`."""
    name, ok = str(answer.get("gate", "")), answer.get("ok") is True
    if ok and answer.get("holds"):
        return "A human has to approve it"
    if ok and answer.get("rule"):
        return "A rule approved it"
    known = _labels(name) if _labels is not None else None
    passed, refused = known or (f"{visible(name)}: passed", f"{visible(name)}: refused")
    return passed if ok else refused


def label_gates(labels: Labels) -> None:
    """Take the words for gates from `labels`."""
    global _labels
    _labels = labels


@register.filter
def tone(status: str) -> str:
    """The colour family of a status: good, bad, wait or busy."""
    return {Status.SUCCESS: "good", Status.ERROR: "bad", Status.AWAITING_APPROVAL: "wait"}.get(Status(status), "busy")


@register.filter
def tone_icon(status: str) -> str:
    """The icon of the same meaning as the colour."""
    return {"good": "check", "bad": "cross", "wait": "wait", "busy": "busy"}[tone(status)]


@register.filter
def tool_icon(name: str) -> str:
    """The tool's icon in the sprite."""
    return ICONS.get(name, "tool")


@register.filter
def took(milliseconds: int | None) -> str:
    """A duration as people say it: 12 ms, 1.4 s, 2 min 5 s; empty when there is none."""
    if milliseconds is None:
        return ""
    if milliseconds < 1:
        return "under 1 ms"
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds // 60_000} min {milliseconds % 60_000 // 1000} s"


def words() -> dict[str, Any]:
    """The same words and icons for the chat page's scripts."""
    return {
        "status": {str(key): text for key, text in STATUS_WORDS.items()},
        "errors": {str(code): {"title": title, "meaning": meaning} for code, (title, meaning) in ERROR_WORDS.items()},
        "icons": ICONS,
    }
