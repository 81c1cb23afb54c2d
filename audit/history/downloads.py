"""Calls as files: JSONL, which is exact, and CSV, which is for spreadsheets and cannot run anything there."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from audit.calls.ledger import moment
from audit.models import ToolCall
from audit.templatetags.audit_text import visible
from audit.templatetags.history_tags import outcome_words

NUMBERS = ("turn", "position", "attempt", "execution_time_ms", "output_bytes")
# The order is that of both files.
COLUMNS = (
    *("id", "created_at", "person", "tool", "outcome", "status", "error_code", "error_message", "error_field"),
    *("display", "arguments", "approved_arguments", "output", "side_effects", "tier", "origin", "conversation_id"),
    *("run_id", "turn", "position", "attempt", "approval_id", "queued_at", "started_at", "finished_at"),
    *("execution_time_ms", "output_bytes", "params_hash", "approved_params_hash", "output_hash", "decision"),
    *("resumed_decision", "erased"),
)
# A cell of Excel holds 32,767 characters.
LONGEST_CELL = 32_000
CUT = "… (the whole is in the JSONL export)"
# What begins a formula in a spreadsheet, also in its wide form, after blanks or quotes, or on a later line of a cell.
_FORMULA = re.compile("(^|[\r\n])(?=[\\s\"'‘’“”`]*[=+\\-@|%＝＋－＠\t])")


def fields(call: Any) -> dict[str, Any]:
    """The values of a call in the files, by column; `username` and `erased` are on it."""
    found = {
        "person": call.username,
        "tool": call.tool_name,
        "outcome": outcome_words(call),
        "arguments": call.input if call.input_raw is None else call.input_raw,
        "approved_arguments": call.approved_input,
    }
    return {name: found[name] if name in found else _plain(getattr(call, name)) for name in COLUMNS}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | dict | list):
        return value
    return moment(value) if hasattr(value, "astimezone") else str(value)


def jsonl(found: list[ToolCall]) -> Iterator[str]:
    """One JSON object a line."""
    for call in found:
        yield json.dumps(fields(call), ensure_ascii=False, separators=(",", ":")) + "\n"


def csv_head() -> str:
    """The first line, after the mark by which a spreadsheet knows that this is UTF-8."""
    return "\ufeff" + _line(list(COLUMNS))


def csv_lines(found: list[ToolCall]) -> Iterator[str]:
    """One line a call; every text is quoted, and none is a formula."""
    for call in found:
        values = fields(call)
        yield _line([values[name] if name in NUMBERS else _cell(values[name]) for name in COLUMNS])


def _line(cells: list[Any]) -> str:
    out = io.StringIO()
    # Numbers have no quotes, so they stay numbers.
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC).writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return safe(text)


def safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula, with what hides in it spelled out, and cut to fit into a cell.

    An apostrophe is put before whatever could begin a formula (OWASP, CSV injection).
    """
    shown = _FORMULA.sub(r"\1'", visible(text[:LONGEST_CELL]))
    return shown if len(shown) <= LONGEST_CELL and len(text) <= LONGEST_CELL else shown[:LONGEST_CELL] + CUT
