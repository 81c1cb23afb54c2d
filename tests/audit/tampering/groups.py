"""All that is done, and how often."""

import random
from collections.abc import Callable, Iterator

from tests.audit.tampering import calls, entries, log, records
from tests.audit.tampering.rows import Connection, Target

Mutation = Callable[[Connection, random.Random, int], Target]
# How many of each.
GROUPS: dict[str, dict[Mutation, int]] = {
    "calls": {
        calls.change_column: 111,
        calls.change_columns: 60,
        calls.change_erased: 72,
        calls.change_open: 36,
        calls.empty_column: 24,
    },
    "rows": {
        calls.swap_calls: 42,
        calls.rehash: 40,
        calls.delete_call: 40,
        calls.add_call: 30,
        records.change_record: 90,
        records.delete_record: 30,
        records.add_record: 30,
    },
    "entries": {
        entries.change_entry: 100,
        entries.delete_entries: 50,
        entries.add_entry: 45,
        entries.swap_entries: 40,
    },
    "log": {
        log.truncate_log: 32,
        log.change_tile: 40,
        log.change_head: 44,
        log.change_key: 18,
        log.fork: 17,
        log.empty_tables: 9,
    },
}

# Each changes one row that the verification compares with its own entries alone: what it says about other rows stays.
OF_ONE_ROW = frozenset({
    calls.change_column, calls.change_columns, calls.change_erased, calls.change_open, calls.empty_column,
    calls.swap_calls, calls.add_call,
})  # fmt: skip


def mutations(group: str) -> Iterator[tuple[Mutation, int]]:
    """Each of a group, as often as it is wanted."""
    for mutation, count in GROUPS[group].items():
        for number in range(count):
            yield mutation, number
