"""Whether what entries state is what their rows say."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.calls import decisions, ledger
from audit.canonical import NotCanonical
from audit.checks import statements
from audit.checks.findings import Finding, id_of
from audit.checks.snapshots import Row, Snapshot
from audit.log import leaves
from audit.models import Origin

# Without the arguments and, unless it was cut, the output: their hashes represent them here.
_CALLS = """
    SELECT id, tenant_id, user_id, origin, conversation_id, message_id, run_id, turn, position, agent, model, tool_name,
        tier, params_hash, decision, input_raw, created_at, approval_id, time_limit_ms, status, error_code,
        error_message, error_field, display, output_hash, side_effects, attempt, execution_time_ms, finished_at,
        approved_params_hash, resumed_decision, fence, output_bytes, queued_at, started_at, row_key, waits_on_run,
        CASE WHEN output @> '{"truncated": true}' THEN output END AS output
    FROM tool_calls WHERE id = ANY(%s::uuid[])"""
_RECORDS = {
    "erasures": "SELECT * FROM erasures WHERE id = ANY(%s::uuid[])",
    "history_reads": "SELECT * FROM history_reads WHERE id = ANY(%s::uuid[])",
    "setting_changes": "SELECT * FROM setting_changes WHERE id = ANY(%s::uuid[])",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """The rows that a batch of entries is about, by id, which are text or not, as the snapshot has them."""

    calls: Mapping[Hashable, Row]
    records: Mapping[tuple[str, Hashable], Row]
    decisions: Mapping[Hashable, list[Row]]

    @classmethod
    def of(cls, snapshot: Snapshot, batch: list[Row], query: str = _CALLS) -> "Facts":
        """Read them: a query a table, `query` for calls by id."""
        wanted: dict[str, list[Hashable]] = defaultdict(list)
        for entry in batch:
            if entry["record_id"] is not None and entry["kind"] in statements.OF_RECORD:
                wanted[statements.table(entry["kind"])].append(entry["record_id"])
        known = decisions.queries()
        asked = decisions.answers()
        by_id = _RECORDS | {known.table: known.by_id, asked.table: asked.by_id}
        records = {(table, row["id"]): row for table, ids in wanted.items() for row in snapshot.all(by_id[table], ids)}
        calls = [entry["call_id"] for entry in batch if entry["call_id"] is not None]
        # Before version 3 an entry did not say which decision it was about; one of an erased call is about all of them.
        unsaid = [
            entry["call_id"]
            for entry in batch
            if entry["kind"] == "erased" or (entry["kind"] == "decided" and entry["record_id"] is None)
        ]
        decided: dict[Hashable, list[Row]] = defaultdict(list)
        for row in snapshot.all(known.of_calls, unsaid) if unsaid else ():
            decided[row["call_id"]].append(row)
        found = {row["id"]: row | {"decisions": decided[row["id"]]} for row in snapshot.all(query, calls)}
        return cls(found, records, decided)

    def about(self, entry: Row) -> list[Row]:
        """The records that an entry may be about: the one that it names, or any decision about its call."""
        if entry["record_id"] is None:
            return self.decisions.get(entry["call_id"], [])
        table = statements.table(entry["kind"]) if entry["kind"] in statements.OF_RECORD else ""
        record = self.records.get((table, entry["record_id"]))
        return [] if record is None else [record]


@dataclass(slots=True)
class Counts:
    """What entries add up to: `missing` calls by the month that they went with, and the months that an entry states."""

    old_versions: int = 0
    erased: int = 0
    missing: Counter[Hashable] = field(default_factory=Counter)
    dropped: set[Hashable] = field(default_factory=set)

    def add(self, more: "Counts") -> None:
        """Count what other entries add up to."""
        self.old_versions += more.old_versions
        self.erased += more.erased
        self.missing += more.missing
        self.dropped |= more.dropped


class Entries:
    """Compares entries with their rows one by one; `counts` is what they have added up to."""

    def __init__(self, snapshot: Snapshot) -> None:
        months = snapshot.all("SELECT * FROM erasures WHERE scope = 'month'")
        self._months = {row["id"]: row for row in months}
        self.counts = Counts()

    def check(self, entry: Row, facts: Facts) -> Iterator[Finding]:
        """What is wrong with what an entry states."""
        kind, version = entry["kind"], entry["version"]
        self.counts.old_versions += version < ledger.COMPLETE
        if not ledger.SINCE.get(kind, 1) <= version <= ledger.VERSION:
            yield of_entry(entry, "version", f"is of version {version}, which is not known", "version")
            return
        if (entry["record_id"] is None) != (kind in statements.OF_ROW or (kind == "decided" and version < 3)):
            yield of_entry(entry, "record", "names a record where there is none, or none where there is", "record_id")
            return
        call = facts.calls.get(entry["call_id"])
        if kind not in statements.WITHOUT_CALL:
            if call is None:
                yield from self._without_call(entry)
                return
            if call["tenant_id"] != entry["tenant_id"]:
                yield of_entry(entry, "tenant", "is of another tenant than its call", "tenant_id")
                return
            if version < ledger.WITH_ORIGIN and kind == "proposed" and call["origin"] != Origin.CHAT:
                how = "is of a version that knows of chats alone, and its call came in otherwise"
                yield of_entry(entry, "origin", how, "origin")
                return
            if version < ledger.WITH_AGENT and kind == "proposed" and (call["agent"], call["model"]) != (None, None):
                how = "is of a version that names no agent and no model, and its call has one"
                yield of_entry(entry, "agent", how, "agent", "model")
                return
            if version < ledger.WITH_CHILD and kind == "settled" and call["waits_on_run"] is not None:
                how = "is of a version that names no run which a call began, and its call has begun one"
                yield of_entry(entry, "child", how, "waits_on_run")
                return
        records = facts.about(entry)
        if kind in statements.OF_RECORD and not records:
            yield of_entry(entry, "record", f"is about a row that is missing in {statements.table(kind)}")
            return
        if kind in statements.OF_CALL and call is not None and call["row_key"] is None:
            # Erased: its "erased" entry covers what is left.
            self.counts.erased += kind in statements.FIRST
            return
        if kind == "dropped":
            self.counts.dropped.add(entry["record_id"])
        if kind == "erased":
            yield from _left(facts.decisions.get(entry["call_id"], []))
        if not any(_fits(entry, call, record) for record in [*records] or [{}]):
            yield of_entry(entry, "commitment", f"does not fit {_about(entry)}", *_columns(entry))

    def _without_call(self, entry: Row) -> Iterator[Finding]:
        for month in self._months.values():
            if month["tenant_id"] == entry["tenant_id"] and month["low"] <= entry["call_id"] < month["high"]:
                self.counts.missing[month["id"]] += entry["kind"] in statements.FIRST
                return
        yield of_entry(entry, "call", "is of a call that is missing")

    def months(self) -> Iterator[Finding]:
        """Months that were dropped without an entry, or with another number of calls than is missing now."""
        for month in self._months.values():
            missing = self.counts.missing[month["id"]]
            if month["id"] not in self.counts.dropped:
                yield of_record("erasures", month, "is of a month, and no entry says that it was dropped")
            elif month["calls"] != missing:
                yield of_record("erasures", month, f"says that {month['calls']} calls went, and {missing} are missing")


def _left(decided: list[Row]) -> Iterator[Finding]:
    for each in decided:
        if each["unerased"]:
            how = "is of an erased call, and still has what erasure removes"
            yield of_record(statements.table("decided"), each, how)


def leaf_of(entry: Row) -> bytes | None:
    """The hash of an entry's leaf; None where it has none."""
    try:
        return leaves.leaf_hash(entry)
    except (AttributeError, NotCanonical):
        return None


def _fits(entry: Row, call: Row | None, record: Row) -> bool:
    try:
        statement = statements.made_again(entry, call, record)
    except ValueError:
        return False
    return statement is not None and statement.fits(bytes(entry["commitment"]))


def _columns(entry: Row) -> tuple[str, ...]:
    kind = entry["kind"]
    return statements.vouched(kind, entry["version"]) if kind in statements.OF_ROW else ()


def _about(entry: Row) -> str:
    """What an entry that does not fit is about; a commitment shows that something was changed, not what."""
    if entry["kind"] in statements.OF_RECORD:
        return f"row {entry['record_id']} of {statements.table(entry['kind'])}"
    return f"its call: one of {', '.join(_columns(entry))}, or row_key, is another"


def of_entry(entry: Row, rule: str, how: str, *columns: str, severity: str = "error") -> Finding:
    """A finding about an entry."""
    where: dict[str, Any] = {name: entry[name] for name in ("leaf_index", "seq")}
    where |= {name: id_of(entry[name]) for name in ("tenant_id", "call_id", "record_id")}
    text = f"{statements.subject(entry)} {how}"
    return Finding(rule, text, table="ledger_entries", columns=columns, severity=severity, **where)


def of_record(table: str, row: Row, how: str) -> Finding:
    """A finding about a decision, an answer, an erasure, a reading or a change."""
    of_calls = (statements.table("decided"), statements.table("answered"))
    call_id = id_of(row["call_id"]) if table in of_calls else None
    text = f"row {row['id']} of {table} {how}"
    tenant_id, record_id = id_of(row["tenant_id"]), id_of(row["id"])
    return Finding("record", text, table=table, tenant_id=tenant_id, call_id=call_id, record_id=record_id)
