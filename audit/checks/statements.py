"""What an entry states, computed again from its rows, and which columns of a call it covers."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from audit.calls import decisions, ledger
from audit.canonical import NotCanonical, canonical
from audit.models import LedgerEntry, ToolCall

Row = Mapping[str, Any]
Kind = LedgerEntry.Kind

# Kinds whose commitments are made with the call's own key, and end with it.
OF_CALL = frozenset(
    {Kind.PROPOSED.value, Kind.DECIDED.value, Kind.ANSWERED.value, Kind.SETTLED.value, Kind.REPORTED.value}
)
# Kinds that state columns of the call's own row alone.
OF_ROW = frozenset({Kind.PROPOSED.value, Kind.SETTLED.value, Kind.REPORTED.value})
# Kinds of which each call has one: the first that it has.
FIRST = frozenset({Kind.PROPOSED.value, Kind.REPORTED.value})
# Kinds that need a row of another table.
OF_RECORD = frozenset(Kind.values) - OF_ROW
# Kinds that are about no single call.
WITHOUT_CALL = frozenset({Kind.DROPPED.value, Kind.READ.value, Kind.CHANGED.value})

_THROUGH = {
    "params_hash": ("params_hash", "input"),
    "approved_params_hash": ("approved_params_hash", "approved_input"),
    "input_raw_hash": ("input_raw",),
    "output_hash": ("output_hash", "output"),
    "output_kept_hash": (),
}
_MAKE = {"proposed": ledger.proposed, "settled": ledger.settled, "reported": ledger.reported}
_NO_COLUMNS = frozenset({"version", "kind"})


@dataclass(frozen=True, slots=True)
class Statement:
    """The payload of an entry, with the key that it was committed to under."""

    key: bytes
    payload: dict[str, Any]

    @property
    def text(self) -> str:
        """The payload's canonical JSON; raises NotCanonical."""
        return canonical(self.payload).decode()

    def fits(self, commitment: bytes) -> bool:
        """Whether this is what was committed to; a value without a canonical form was not."""
        try:
            return ledger.commitment(self.key, self.payload) == commitment
        except NotCanonical:
            return False


def table(kind: str) -> str:
    """The table that an entry's record is in, for a kind of OF_RECORD."""
    if kind == Kind.DECIDED:
        return decisions.queries().table
    if kind == Kind.ANSWERED:
        return decisions.answers().table
    return {Kind.READ: "history_reads", Kind.CHANGED: "setting_changes"}.get(Kind(kind), "erasures")


def made_again(entry: Row, call: Row | None, record: Row | None) -> Statement | None:
    """The statement of an entry from its call and its record; None where one of them, or its key, is gone.

    Raises ValueError when the rows cannot be what such an entry was about.
    """
    kind, version = entry["kind"], entry["version"]
    if (kind not in WITHOUT_CALL and call is None) or (kind in OF_RECORD and record is None):
        return None
    source = call if kind in OF_CALL else record
    if source is None or source["row_key"] is None:
        return None
    try:
        return Statement(bytes(source["row_key"]), _payload(kind, version, call or {}, record or {}))
    except (AttributeError, KeyError, TypeError, NotCanonical, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}") from None


def _payload(kind: str, version: int, call: Row, record: Row) -> dict[str, Any]:
    match kind:
        case "proposed":
            return ledger.proposed(call, version)
        case "settled":
            return ledger.settled(call, version)
        case "reported":
            return ledger.reported(call, version)
        case "decided":
            return ledger.decided(record, version)
        case "answered":
            return ledger.answered(record, version)
        case "erased":
            return ledger.erased(record, call, version)
        case "dropped":
            return ledger.dropped(record, version)
        case "read":
            return ledger.read(record, version)
        case "changed":
            return ledger.changed(record, version)
    raise KeyError(kind)


def vouched(kind: str, version: int) -> tuple[str, ...]:
    """The columns of `tool_calls` that an entry of a kind of OF_ROW and of a version covers."""
    names = [name for name in _MAKE[kind](_SAMPLE, version) if name not in _NO_COLUMNS]
    return tuple(column for name in names for column in _THROUGH.get(name, (name,)))


def gaps(version: int) -> frozenset[str]:
    """The columns of a final call that its entries of a version do not cover.

    Not counted: the key, which the commitments are made with; the lease, which a final call has none of; and the
    origin, agent, model and the run that it began, which an entry that does not name them says are a chat and none.
    """
    implied = {"row_key", "lease_until", "origin", "agent", "model", "waits_on_run"}
    columns = {str(field.column) for field in ToolCall._meta.concrete_fields} - implied
    return frozenset(columns - {*vouched("proposed", version), *vouched("settled", version)})


class _Sample(dict[str, Any]):
    """A call with no values but the times that every final call has."""

    def __missing__(self, name: str) -> Any:
        return _MOMENT if name in ("created_at", "finished_at") else None


_MOMENT = datetime.fromtimestamp(0, UTC)
_SAMPLE = _Sample()


def subject(entry: Row) -> str:
    """Which entry, for people: its place in the log, or its number, what it says, and of what."""
    place = f"seq {entry['seq']}" if entry["leaf_index"] is None else f"leaf {entry['leaf_index']}, seq {entry['seq']}"
    about: uuid.UUID | None = entry["call_id"] or entry["record_id"]
    return f"entry {place} ({entry['kind']} of {about})"
