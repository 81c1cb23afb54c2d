"""Records readings: whoever is shown calls that were made in other people's names leaves a row and a ledger entry.

A row says who was shown how many calls of whose, where, and the list's filters; there is one for each person
whose calls were among them. What is seen again within ten minutes (the same list once more, its next page with the same
people's calls) is no second row; an export always is one.

The record is written in the transaction of the page, before anything is answered: without a record there is no page.
"""

import os
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections, router
from psycopg.types.json import Jsonb

from audit.calls import ledger
from audit.identifiers import first_id_at, uuid7
from audit.models import HistoryRead, ToolCall

Row = dict[str, Any]

SAME_LOOK = timedelta(minutes=10)
Action = HistoryRead.Action

# An id grows with time, so the index finds what the reader was shown lately.
_RECORD = """
    WITH given AS (
        SELECT * FROM unnest(%(ids)s::uuid[], %(tenants)s::uuid[], %(users)s::uuid[], %(counts)s::bigint[],
            %(keys)s::bytea[], %(commitments)s::bytea[])
            AS of (id, tenant_id, user_id, calls, row_key, commitment)), reading AS (
        INSERT INTO history_reads (id, tenant_id, reader_id, user_id, call_id, action, via, filters, calls, row_key,
            created_at)
        SELECT g.id, g.tenant_id, %(reader_id)s, g.user_id, %(call_id)s, %(action)s, %(via)s, %(filters)s, g.calls,
            g.row_key, %(created_at)s
        FROM given g WHERE %(always)s OR NOT EXISTS (
            SELECT FROM history_reads r
            WHERE r.tenant_id = g.tenant_id AND r.reader_id = %(reader_id)s AND r.id >= %(lately)s
                AND r.action = %(action)s AND r.via = %(via)s AND r.filters = %(filters)s
                AND r.user_id IS NOT DISTINCT FROM g.user_id AND r.call_id IS NOT DISTINCT FROM %(call_id)s)
        RETURNING id)
    INSERT INTO ledger_entries (tenant_id, record_id, kind, version, commitment)
    SELECT g.tenant_id, g.id, 'read', %(version)s, g.commitment FROM given g JOIN reading USING (id)"""


def of_calls(
    *,
    reader_id: uuid.UUID | None,
    calls: Iterable[ToolCall],
    action: str,
    via: str,
    filters: Mapping[str, Any] | None = None,
    call_id: uuid.UUID | None = None,
) -> None:
    """Record that these calls are shown; the reader's own leave no trace. `call_id` says which, where it is one."""
    shown: Counter[tuple[uuid.UUID, uuid.UUID | None]] = Counter((call.tenant_id, call.user_id) for call in calls)
    record(reader_id=reader_id, shown=shown, action=action, via=via, filters=filters, call_id=call_id)


def record(
    *,
    reader_id: uuid.UUID | None,
    shown: Mapping[tuple[uuid.UUID, uuid.UUID | None], int],
    action: str,
    via: str,
    filters: Mapping[str, Any] | None = None,
    call_id: uuid.UUID | None = None,
) -> None:
    """Record what is shown: how many calls by (tenant, person); a person of None is everybody in the tenant.

    `reader_id` None is whoever runs a command; `via` is page, api, admin or command; of `filters`, what is None or
    empty is left out. One statement, on the current login, and none at all when only the reader's own are shown.
    """
    others = {whose: count for whose, count in shown.items() if whose[1] is None or whose[1] != reader_id}
    if not others:
        return
    now = datetime.now(UTC)
    common: Row = {
        "reader_id": reader_id,
        "call_id": call_id,
        "action": str(action),
        "via": via,
        "filters": {name: _text(value) for name, value in (filters or {}).items() if value not in (None, "")},
        "created_at": now,
    }
    readings: list[Row] = [
        common | {"id": uuid7(), "tenant_id": tenant_id, "user_id": user_id, "calls": count, "row_key": os.urandom(32)}
        for (tenant_id, user_id), count in others.items()
    ]
    values = common | {
        "filters": Jsonb(common["filters"]),
        "ids": [each["id"] for each in readings],
        "tenants": [each["tenant_id"] for each in readings],
        "users": [each["user_id"] for each in readings],
        "counts": [each["calls"] for each in readings],
        "keys": [each["row_key"] for each in readings],
        "commitments": [ledger.commitment(each["row_key"], ledger.read(each)) for each in readings],
        "always": action == Action.EXPORT,
        "lately": first_id_at(now - SAME_LOOK),
        "version": ledger.VERSION,
    }
    with connections[router.db_for_write(HistoryRead)].cursor() as cursor:
        cursor.execute(_RECORD, values)


def _text(value: Any) -> str:
    """A filter's value as it was given, without what PostgreSQL cannot store."""
    return str(value).replace("\x00", "�").encode("utf-8", "replace").decode()
