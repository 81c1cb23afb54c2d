"""What the history's pages show of a call: a sentence, an outcome, the time it took, and values cut to a size."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from audit.log.counting import BOUNDS
from audit.models import FINAL, Status
from audit.templatetags.audit_text import error_meaning, status_words, took, visible
from tenants.people import owners
from tenants.people.principal import Principal

register = template.Library()

# The most that a page shows of one value, in bytes of HTML; it links to the whole.
SHEET_BYTES = 16_000
LONGEST_LINE = 200
# The first and the last bound of the histogram of times.
SHORTEST, LONGEST = BOUNDS[0], BOUNDS[-1]
WAITS = {
    Status.PROPOSED: "Waits for the calls before it.",
    Status.AWAITING_APPROVAL: "Waits until somebody approves or denies it.",
    Status.QUEUED: "Waits for a worker.",
    Status.CLAIMED: "A worker is about to run it.",
    Status.RUNNING: "Runs now.",
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A value as a page shows it; `left` says how many characters more there are."""

    text: SafeString
    left: int


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the time between a call and its end: what it was spent on, and its position in a bar of 1000."""

    kind: str
    words: str
    took: str
    start: int
    width: int


@register.filter
def sentence(call: Any) -> str:
    """What happened, in one line."""
    if call.erased:
        return "What was asked and answered has been erased."
    if call.status == Status.RUNNING and call.waits_on_run:
        return "Waits for the run that it began."
    line = call.display or call.error_message or error_meaning(call.error_code) or WAITS.get(call.status, "It is done.")
    return _line(str(line))


def _line(text: str) -> str:
    # Cut before it is spelled out, so that a long one costs nothing.
    return visible(text[:LONGEST_LINE]) + ("…" if len(text) > LONGEST_LINE else "")


@register.filter
def outcome_words(call: Any) -> str:
    """The outcome in a word or two; one that failed or was refused by its kind."""
    return "Erased" if call.erased else status_words(call)


@register.filter
def outcome_tone(call: Any) -> str:
    """The colour of the outcome: good, bad, wait, busy, or gone."""
    if call.erased:
        return "gone"
    if call.status == Status.ERROR:
        # A call that a gate or a human stopped is no failure of the tool.
        return "bad" if call.started_at else "kept"
    return {Status.SUCCESS: "good", Status.AWAITING_APPROVAL: "wait"}.get(call.status, "busy")


@register.filter
def outcome_icon(call: Any) -> str:
    """The icon that says the same as the colour."""
    icons = {"good": "check", "bad": "alert", "kept": "cross", "wait": "wait", "busy": "busy", "gone": "eraser"}
    return icons[outcome_tone(call)]


@register.simple_tag
def owners_meant(call: Any, principal: Principal) -> str:
    """The names of owners who can lift what refused the call, for whom the refusal sends to them; "" for nobody.

    What is on record says the role alone.
    """
    refused = [str(answer.get("user")) for answer in call.decision or () if not answer.get("ok")]
    return owners.names_beside(principal, " ".join([call.error_message or "", *refused]))


@register.filter
def is_final(call: Any) -> bool:
    """Whether the call is final."""
    return call.status in FINAL


@register.filter
def json_sheet(value: Any) -> Sheet:
    """A JSON value, indented, with nothing hidden in it; cut where it is long."""
    return _sheet(json.dumps(value, indent=2, ensure_ascii=False))


@register.filter
def text_sheet(text: str) -> Sheet:
    """A text as it came, with nothing hidden in it; cut where it is long."""
    return _sheet(text)


def _sheet(text: str) -> Sheet:
    # Spelled out and escaped a character becomes one or more bytes, so no more than these are needed.
    given = text[:SHEET_BYTES]
    shown, size = [], 0
    for char in visible(given):
        safe = escape(char)
        size += len(safe.encode("utf-8", "replace"))
        if size > SHEET_BYTES:
            break
        shown.append(safe)
    whole = len(shown) == len(visible(given)) and len(given) == len(text)
    return Sheet(mark_safe("".join(shown)), 0 if whole else max(1, len(text) - len(shown)))


@register.filter
def spans(call: Any) -> list[Span]:
    """Where the time between the call and its end (or now) went: waiting, in the queue, running."""
    end = call.finished_at or datetime.now(UTC)
    waiting = "waited for approval" if call.approval_id else "waited for its turn"
    marks = [(call.created_at, "held" if call.approval_id else "turn", waiting)]
    if call.queued_at:
        marks.append((call.queued_at, "queue", "waited for a worker"))
    if call.started_at:
        ran = "waited for the run that it began" if call.waits_on_run else "ran"
        marks.append((call.started_at, "ran", ran))
    if call.status in FINAL and not call.started_at and not call.queued_at and not call.approval_id:
        # Refused before it could wait for anything.
        return []
    whole = max((end - call.created_at).total_seconds(), 0.001)
    found = []
    for (start, kind, words), (stop, *_) in zip(marks, [*marks[1:], (end, "", "")], strict=True):
        spent = (stop - start).total_seconds()
        if spent >= 0.001:
            left = round(1000 * max((start - call.created_at).total_seconds(), 0) / whole)
            width = max(4, round(1000 * spent / whole))
            found.append(Span(kind, words, took(round(spent * 1000)), min(left, 1000 - width), width))
    return found


@register.filter
def thousands(count: int) -> str:
    """A number with its thousands apart."""
    return f"{count:,}"


@register.filter
def share(counts: Any, kind: str) -> str:
    """The part of the calls that ended so, in percent; a part that is not zero is never shown as 0 %."""
    part = counts.share(kind)
    if part is None:
        return "–"
    if 0 < part < 0.001:
        return "under 0.1 %"
    return f"{100 * part:.1f}".removesuffix(".0") + " %"


@register.filter
def slowest(counts: Any) -> str:
    """How long 19 of 20 calls took at most, as well as a histogram can tell."""
    within = counts.p95_ms
    if within is None:
        return "–"
    if within <= SHORTEST:
        return f"under {took(SHORTEST)}"
    return f"over {took(within)}" if within >= LONGEST else f"about {took(within)}"
