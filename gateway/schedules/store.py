"""What the built-in tools do with one person's schedules, in the transaction of their call."""

import uuid
from collections.abc import Mapping
from typing import Any

from audit.calls.rows import ToolCall
from gateway.schedules import firing
from gateway.schedules.changes import MAX_SCHEDULES
from gateway.schedules.cron import Times
from gateway.schedules.errors import RunsInSchedule, TooManySchedules
from tenants.errors import Refused
from tenants.scope.transactions import Connection, TenantScope
from tools.errors import ToolCallRejected, ToolPermissionDenied, ToolValidationError

# One after the other: else two would both find room for one.
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('schedules:' || %s, 0))"
_COUNT = "SELECT count(*) AS count FROM schedules WHERE user_id = %s"
_RUN = "SELECT agent_id, profile ->> 'origin' AS origin, profile ? 'within' AS child FROM runs WHERE id = %s"
_ADD = """
    INSERT INTO schedules (id, tenant_id, user_id, agent_id, cron, tz, content, next_at, call_id, conversation_id,
        taint)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, taint_labels(%s))"""
_NOW = "SELECT now() AS now"
_LIST = """
    SELECT s.id, s.cron, s.tz, s.content, s.enabled, s.paused_because, s.next_at, s.taint, a.slug AS agent,
        last.slot_at, last.status, last.code, last.run_id
    FROM schedules s LEFT JOIN agents a ON a.id = s.agent_id LEFT JOIN LATERAL (
        SELECT slot_at, status, code, run_id FROM schedule_slots l WHERE l.schedule_id = s.id
        ORDER BY slot_at DESC LIMIT 1) last ON true
    WHERE s.user_id = %s ORDER BY s.created_at DESC, s.id DESC"""
_CANCEL = "DELETE FROM schedules WHERE id = %s AND user_id = %s RETURNING cron, tz, content"


class ScheduleStore:
    """See `tools.handles.Schedules`."""

    def __init__(self, connection: Connection, call: ToolCall):
        self._connection = connection
        self._scope = TenantScope(call.tenant_id, call.user_id)
        self._call = call

    async def add(self, *, cron: str, tz: str, content: str) -> dict[str, Any]:
        """With the agent of the call's run, so that it can do no more later than now."""
        run = await self._run()
        if run is not None and run["child"]:
            raise ToolPermissionDenied("A run that another run began makes no schedules. Its person can, in a chat.")
        try:
            times = Times.read(cron, tz)
            await self._connection.execute(_ALONE, [str(self._scope.user_id)])
            row = await (await self._connection.execute(_COUNT, [self._scope.user_id])).fetchone()
            if row is not None and row["count"] >= MAX_SCHEDULES:
                raise TooManySchedules(MAX_SCHEDULES)
        except Refused as refused:
            raise _rejected(refused) from None
        moment = await (await self._connection.execute(_NOW)).fetchone()
        assert moment is not None
        schedule_id, next_at = uuid.uuid4(), times.after(moment["now"])
        agent_id = None if run is None else run["agent_id"]
        of_call = [next_at, self._call.id, self._call.conversation_id, self._call.conversation_id]
        await self._connection.execute(_ADD, [schedule_id, *self._scope, agent_id, times.cron, tz, content, *of_call])
        return {"schedule_id": str(schedule_id), "next_at": _text(next_at)}

    async def list(self) -> list[dict[str, Any]]:
        """Newest first, each with its last slot."""
        found = await (await self._connection.execute(_LIST, [self._scope.user_id])).fetchall()
        return [
            {
                "schedule_id": str(row["id"]),
                "cron": row["cron"],
                "tz": row["tz"],
                "content": row["content"],
                "agent": row["agent"],
                "enabled": row["enabled"],
                "paused_because": row["paused_because"],
                "next_at": _text(row["next_at"]),
                "last": None if row["slot_at"] is None else _slot(row),
                "taint": row["taint"],
            }
            for row in found
        ]

    async def run(self, schedule_id: uuid.UUID) -> dict[str, Any]:
        """Begins with the call's commit."""
        run = await self._run()
        try:
            if run is not None and (run["child"] or run["origin"] == firing.ORIGIN):
                # Else two schedules could go on for ever by beginning each other.
                raise RunsInSchedule
            slot = await firing.run_now(self._connection, self._scope, schedule_id)
        except Refused as refused:
            raise _rejected(refused) from None
        return {"schedule_id": str(schedule_id), **_slot(slot._asdict()), "message": slot.message}

    async def cancel(self, schedule_id: uuid.UUID) -> dict[str, Any] | None:
        """With its slots; its runs stay."""
        gone = [schedule_id, self._scope.user_id]
        return await (await self._connection.execute(_CANCEL, gone)).fetchone()

    async def _run(self) -> dict[str, Any] | None:
        if self._call.run_id is None:
            return None
        return await (await self._connection.execute(_RUN, [self._call.run_id])).fetchone()


def of_call(connection: Connection, call: ToolCall) -> ScheduleStore:
    """The schedules of the call's user."""
    return ScheduleStore(connection, call)


def _rejected(refused: Refused) -> ToolValidationError | ToolCallRejected:
    """What the model is told: what it can put right, or that it was refused."""
    if refused.field is not None:
        return ToolValidationError(refused.detail, refused.field)
    return ToolCallRejected(refused.detail)


def _slot(row: Mapping[str, Any]) -> dict[str, Any]:
    run_id = row["run_id"] and str(row["run_id"])
    return {"slot_at": _text(row["slot_at"]), "status": row["status"], "code": row["code"], "run_id": run_id}


def _text(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")
