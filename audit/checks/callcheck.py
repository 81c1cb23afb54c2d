"""Checks of one call's row, its entries and the related rows, independent of their commitments."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from audit.calls import ledger
from audit.canonical import NotCanonical, sha256_hex
from audit.checks.findings import Finding, id_of
from audit.models import FINAL, Origin

Row = Mapping[str, Any]

# A call's id, its times and its entries' times differ by parts of one transaction, and by two machines' clocks.
SLACK = timedelta(minutes=10)
_SLACK = SLACK.total_seconds()
HASHED = (("params_hash", "input"), ("approved_params_hash", "approved_input"), ("output_hash", "output"))
# What erasure removes; the rest of the gates' answers has no words.
ERASED = (
    *("input", "input_raw", "output", "error_message", "error_field", "params_hash", "output_hash"),
    *("approved_input", "approved_params_hash"),
)
WORDS = frozenset({"model", "user", "log", "field"})
# Columns that an unfinished call has not filled yet.
RESULT = (
    *("output", "output_hash", "output_bytes", "error_message", "error_field", "execution_time_ms", "finished_at"),
    *("display", "side_effects"),
)


def of_call(call: Row, entries: Sequence[Row]) -> Iterator[Finding]:
    """What is wrong with a call, given its entries; its ids are text."""
    kinds = Counter(entry["kind"] for entry in entries)
    final = call["status"] in FINAL
    erased = call["row_key"] is None
    # What a client reports, Toolgate has not run: nothing else is due, or allowed.
    own = call["origin"] != Origin.NATIVE
    for kind, due in (("proposed", int(own)), ("settled", int(final and own)), ("reported", int(not own))):
        if kinds[kind] != due:
            yield _wrong(call, "entries", f'has {kinds[kind]} "{kind}" entries, not {due}', "status")
    if erased != bool(kinds["erased"]):
        how = "is erased, and no entry says so" if erased else "was erased, and has a key again"
        yield _wrong(call, "erased", how, "row_key")
    if call["lease_until"] is not None and final:
        yield _wrong(call, "state", "is final, and somebody holds it", "lease_until")
    if not final:
        there = [name for name in RESULT if call[name]]
        if there:
            yield _wrong(call, "state", "is not final, and has a result", *there)
    yield from _left(call) if erased else _hashes(call)
    yield from _times(call, entries)


def _hashes(call: Row) -> Iterator[Finding]:
    for hash_name, name in HASHED:
        stated, value = call[hash_name], call[name]
        if stated is None:
            if value is not None or call[f"{name}_there"]:
                yield _wrong(call, "hash", f"has {name}, and no {hash_name}", name, hash_name)
        elif name == "output" and ledger.kept_hash(value) is not None:
            # A cut output has another hash than the whole; the "settled" entry covers the recorded part.
            continue
        elif not call[f"{name}_there"] and name != "input":
            yield _wrong(call, "hash", f"has {hash_name}, and no {name}", name, hash_name)
        elif _hash(value) != stated:
            yield _wrong(call, "hash", f"has {name} with another hash than {hash_name}", name, hash_name)
    if call["params_hash"] is None and call["input_raw"] is None:
        yield _wrong(call, "hash", "has neither arguments nor what was sent instead", "input", "input_raw")


def _hash(value: Any) -> str | None:
    try:
        return sha256_hex(value)
    except (NotCanonical, TypeError):
        return None


def _left(call: Row) -> Iterator[Finding]:
    there = [name for name in ERASED if call[name] is not None]
    there += ["display"] if call["display"] else []
    for name in ("decision", "resumed_decision"):
        answers = call[name] if isinstance(call[name], list) else []
        if any(WORDS & answer.keys() for answer in answers if isinstance(answer, dict)):
            there.append(name)
    if there:
        yield _wrong(call, "erased", "is erased, and still has what erasure removes", *there)


def _times(call: Row, entries: Sequence[Row]) -> Iterator[Finding]:
    """An entry is written when what it states happens, so another time in either is a forgery."""
    # The first 48 bits of the id are milliseconds; as a number, since an id can name times that Python has none for.
    created, named = call["created_at"], call["id"]
    if not isinstance(created, datetime) or abs(int(named[:8] + named[9:13], 16) / 1000 - created.timestamp()) > _SLACK:
        yield _wrong(call, "time", "has an id of another time than its own", "id", "created_at")
    for entry in entries:
        name = {"proposed": "created_at", "settled": "finished_at", "reported": "created_at"}.get(entry["kind"])
        if name is None:
            continue
        at, entered = call[name], entry["created_at"]
        if not (isinstance(at, datetime) and isinstance(entered, datetime)) or abs(at - entered) > SLACK:
            text = f'has another time than its "{entry["kind"]}" entry'
            yield _wrong(call, "time", text, name, seq=entry["seq"], leaf_index=entry["leaf_index"])


def _wrong(call: Row, rule: str, how: str, *columns: str, **more: Any) -> Finding:
    text = f"call {call['id']} {how} ({', '.join(columns)})"
    return Finding(
        rule,
        text,
        table="tool_calls",
        tenant_id=id_of(call["tenant_id"]),
        call_id=id_of(call["id"]),
        columns=columns,
        **more,
    )
