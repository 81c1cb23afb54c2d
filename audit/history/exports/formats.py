"""Calls as files: JSONL, which is exact, and CSV, which is for spreadsheets and cannot run anything there.

Rows come as texts, as PostgreSQL writes them, and most of them go into a file as they are: a value is parsed, and a
text looked through character by character, only where one look at the whole row cannot tell that it is not needed.
"""

import csv
import io
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import orjson
from django.db.models import BooleanField, Case, ExpressionWrapper, F, Func, IntegerField, TextField, When
from django.db.models.functions import Cast, Coalesce
from django.db.models.lookups import LessThanOrEqual

from audit.history.filters import IS_ERASED
from audit.templatetags.audit_text import BLANK, visible
from audit.templatetags.history_tags import outcome_words
from tenants.scope import jsonb

# The order is that of both files.
COLUMNS = (
    *("id", "created_at", "person", "tool", "outcome", "status", "error_code", "error_message", "error_field"),
    *("display", "arguments", "approved_arguments", "output", "side_effects", "tier", "origin", "conversation_id"),
    *("run_id", "turn", "position", "attempt", "approval_id", "queued_at", "started_at", "finished_at"),
    *("execution_time_ms", "output_bytes", "params_hash", "approved_params_hash", "output_hash", "decision"),
    *("resumed_decision", "erased"),
)
NUMBERS = ("turn", "position", "attempt", "execution_time_ms", "output_bytes")
TIMES = ("created_at", "queued_at", "started_at", "finished_at")
JSON = ("arguments", "approved_arguments", "output", "side_effects", "decision", "resumed_decision")
_IDS = ("conversation_id", "run_id", "approval_id")
# Where a file calls it something else; the outcome is made of the status.
_COLUMN_OF = {
    "person": "user_id",
    "tool": "tool_name",
    "outcome": "status",
    "arguments": "input",
    "approved_arguments": "approved_input",
}
# A cell of Excel holds 32,767 characters.
LONGEST_CELL = 32_000
CUT = "… (the whole is in the JSONL export)"
# What begins a formula in a spreadsheet, also in its wide form, after blanks or quotes, or on a later line of a cell.
_FORMULA = re.compile("(^|[\r\n])(?=[\\s\"'‘’“”`]*[=+\\-@|%＝＋－＠\t])")
# What a text begins with that may be one: nothing else makes _FORMULA match a line.
_SUSPECT = frozenset("\"'‘’“”`=+-@|%＝＋－＠").union(each for each in map(chr, range(0x3001)) if each.isspace())
# What parts the cells of a row, and is around a number, until the row is whole; no harmless text has them.
_NEXT, _NUMBER = "\x00", "\x01"
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_LONGEST_PLAIN_NUMBER = b"0" * 16

_PLACE = {name: place for place, name in enumerate(COLUMNS)}
_PERSON, _OUTCOME, _STATUS, _CODE = (_PLACE[name] for name in ("person", "outcome", "status", "error_code"))
_ARGUMENTS, _ERASED = _PLACE["arguments"], _PLACE["erased"]
_TIMES, _JSON, _NUMBERS = ([_PLACE[name] for name in names] for names in (TIMES, JSON, NUMBERS))
_TEXTS = [place for place in range(len(COLUMNS)) if place not in _NUMBERS]
_json_of, _texts_of = itemgetter(*_JSON), itemgetter(*_TEXTS)

Row = tuple[Any, ...]


class _InUTC(Func):
    """A time as PostgreSQL writes it, in UTC."""

    template = "(%(expressions)s AT TIME ZONE 'UTC')::text"
    output_field = TextField()


def _expression(name: str) -> Any:
    column = _COLUMN_OF.get(name, name)
    if name in TIMES:
        return _InUTC(column)
    if name == "erased":
        return ExpressionWrapper(IS_ERASED, output_field=BooleanField())
    return Cast(column, TextField()) if name in JSON or name in _IDS else F(column)


def expressions(most: int | None = None) -> list[Any]:
    """What a query selects for a row of a file: the columns in order, and what was sent in place of arguments.

    With `most`, a call whose values have more bytes (`size_of_values`) comes without them.
    """
    found = [*map(_expression, COLUMNS), F("input_raw")]
    if most is not None:
        fits = LessThanOrEqual(size_of_values(), most)
        for place in (*(_PLACE[name] for name in ("arguments", "approved_arguments", "output")), len(COLUMNS)):
            found[place] = Case(When(fits, then=found[place]), output_field=TextField())
    return found


class _Size(Func):
    """How many bytes a value has as text; one that is stored short is not unpacked, and counts as nothing."""

    template = (
        "CASE WHEN pg_column_compression(%(expressions)s) IS NOT NULL OR pg_column_size(%(expressions)s) > 2000"
        " THEN octet_length(%(expressions)s::text) ELSE 0 END"
    )
    output_field = IntegerField()


def size_of_values() -> Any:
    """How many bytes a call's arguments and result have as text; those of short ones do not count."""
    size: Any = Coalesce(F("output_bytes"), 0)
    for name in ("input", "approved_input", "input_raw"):
        size = size + Coalesce(_Size(name), 0)
    return size


def jsonl(rows: Iterable[Row], names: Mapping[uuid.UUID, str]) -> bytes:
    """One JSON object a line."""
    return b"".join(_object(_named(row, names), row[-1]) for row in rows)


def _object(values: list[Any], raw: str | None) -> bytes:
    texts = [text for text in _json_of(values) if text]
    if _is_plain_json(texts):
        try:
            line = dict(zip(COLUMNS, _parsed(values, raw, orjson.loads), strict=True))
            return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            pass
    line = dict(zip(COLUMNS, _parsed(values, raw, jsonb.loads), strict=True))
    return (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _parsed(values: list[Any], raw: str | None, loads: Any) -> list[Any]:
    parsed = list(values)
    for place in _JSON:
        if values[place] is not None:
            parsed[place] = loads(values[place])
    if raw is not None:
        parsed[_ARGUMENTS] = raw
    return parsed


def csv_head() -> bytes:
    """The first line, after the mark by which a spreadsheet knows that this is UTF-8."""
    return ("\ufeff" + _line(list(COLUMNS))).encode()


def csv_lines(rows: Iterable[Row], names: Mapping[uuid.UUID, str]) -> bytes:
    """One line a call; every text is quoted, and none is a formula."""
    return "".join([_cells(_named(row, names), row[-1]) for row in rows]).encode()


def _cells(values: list[Any], raw: str | None) -> str:
    texts = [text for text in _json_of(values) if text]
    # PostgreSQL writes objects and arrays like Python; a text, a number, a truth value or null alone is another cell.
    if not _is_plain_json(texts) or not {text[0] for text in texts} <= {"{", "["}:
        for place in _JSON:
            values[place] = values[place] and _json_cell(values[place])
    if raw is not None:
        values[_ARGUMENTS] = raw
    values[_ERASED] = "yes" if values[_ERASED] else "no"
    cells = ["" if value is None else value for value in values]
    if not _is_harmless(_texts_of(cells)):
        for place in _TEXTS:
            cells[place] = safe(cells[place])
        return _line(cells)
    for place in _NUMBERS:
        if cells[place] != "":
            cells[place] = f"{_NUMBER}{cells[place]}{_NUMBER}"
    line = _NEXT.join(cells).replace('"', '""').replace(_NEXT, '","')
    return '"' + line.replace(f'"{_NUMBER}', "").replace(f'{_NUMBER}"', "") + '"\r\n'


def _line(cells: list[Any]) -> str:
    out = io.StringIO()
    # Numbers have no quotes, so they stay numbers.
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC).writerow(cells)
    return out.getvalue()


def _named(row: Row, names: Mapping[uuid.UUID, str]) -> list[Any]:
    """The values of the columns, with words for whose it was and how it ended, and times as the ledger writes them."""
    values = list(row[:-1])
    values[0] = str(values[0])
    values[_PERSON] = names[values[_PERSON]]
    values[_OUTCOME] = _outcome(values[_STATUS], values[_CODE], values[_ERASED])
    for place in _TIMES:
        text = values[place]
        if text is not None:
            values[place] = f"{text[:10]}T{text[11:]}Z" if len(text) == 26 else _moment(text)
    return values


@lru_cache(maxsize=256)
def _outcome(status: str, error_code: str | None, erased: bool) -> str:
    return outcome_words(SimpleNamespace(status=status, error_code=error_code, erased=erased))


def _moment(text: str) -> str:
    """As `audit.calls.ledger.moment` writes it, of a time as PostgreSQL writes it; one of no such year as it is."""
    if len(text) > 26 or text[4:5] != "-" or text.endswith("C"):
        return text
    return f"{text[:10]}T{text[11:] if len(text) > 19 else text[11:] + '.'}".ljust(26, "0") + "Z"


def _is_plain_json(texts: list[str]) -> bool:
    """Whether no number in these texts is written otherwise by PostgreSQL than by Python: no fraction, no long integer.

    Digits within strings count too, and cost no more than time.
    """
    zeros = " ".join(texts).encode("utf-8", "surrogatepass").translate(_ZEROS)
    return b"0.0" not in zeros and _LONGEST_PLAIN_NUMBER not in zeros


def _is_harmless(texts: Iterable[str]) -> bool:
    """Whether `safe` would leave every one of these texts as it is; where it is not told at once, no."""
    whole = "".join(texts)
    return (
        len(whole) <= LONGEST_CELL
        and whole.isprintable()
        and (whole.isascii() or not BLANK.search(whole))
        and _SUSPECT.isdisjoint([text[:1] for text in texts])
    )


def _json_cell(text: str) -> str:
    value = jsonb.loads(text)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula, with what hides in it spelled out, and cut to fit into a cell.

    An apostrophe is put before whatever could begin a formula (OWASP, CSV injection).
    """
    shown = _FORMULA.sub(r"\1'", visible(text[:LONGEST_CELL]))
    return shown if len(shown) <= LONGEST_CELL and len(text) <= LONGEST_CELL else shown[:LONGEST_CELL] + CUT
