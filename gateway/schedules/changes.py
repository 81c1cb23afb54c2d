"""What people do with schedules: make, change, pause, delete. Each runs in its caller's transaction and scope."""

import uuid
from typing import Any

from django.db import connections, router
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from gateway.runs.errors import NoSuchAgent
from gateway.schedules.cron import Times
from gateway.schedules.errors import InvalidSchedule, NoSuchSchedule, NotYourSchedule, TooManySchedules
from gateway.schedules.models import Schedule, ScheduleSlot
from tenants.people.changes import Kind, Said, record
from tenants.people.principal import Principal
from tools.schemas.arguments import is_plain

# Of one person.
MAX_SCHEDULES = 50
MAX_CONTENT = 20_000
_KIND = Kind(target="schedule", name="", fields=("cron", "tz", "enabled"), secrets=("content",))
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('schedules:' || %s, 0))"


def seen_by(principal: Principal) -> QuerySet[Schedule]:
    """One's own, newest first; owners and auditors see the tenant's, of which the words stay with whose they are."""
    last = ScheduleSlot.objects.filter(tenant_id=principal.tenant_id, schedule=OuterRef("pk")).order_by("-slot_at")
    found = Schedule.objects.filter(tenant_id=principal.tenant_id).select_related("agent", "user")
    found = found.annotate(last_status=Subquery(last.values("status")[:1])).order_by("-created_at", "-id")
    return found if principal.sees_whole_history else found.filter(user_id=principal.user_id)


def found(principal: Principal, schedule_id: Any, *, lock: bool = False) -> Schedule:
    """One that the caller sees. Raises NoSuchSchedule."""
    rows = seen_by(principal)
    row = (rows.select_for_update(of=("self",)) if lock else rows).filter(pk=schedule_id).first()
    if row is None:
        raise NoSuchSchedule(schedule_id)
    return row


def slots(schedule: Schedule) -> QuerySet[ScheduleSlot]:
    """Its slots, newest first."""
    rows = ScheduleSlot.objects.filter(tenant_id=schedule.tenant_id, schedule=schedule).select_related("run")
    return rows.order_by("-slot_at", "-id")


def add(
    principal: Principal, *, cron: str, tz: str, content: str, agent: str | None = None, enabled: bool = True
) -> Schedule:
    """A new schedule of the caller's; without an `agent`'s slug of the default one.

    Raises InvalidSchedule, NoSuchAgent, TooManySchedules.
    """
    times = Times.read(cron, tz)
    schedule = Schedule(tenant_id=principal.tenant_id, user_id=principal.user_id, cron=times.cron, tz=tz)
    schedule.content, schedule.enabled = _content(content), enabled
    schedule.agent_id = _agent_id(principal, agent)
    schedule.next_at = times.after(timezone.now()) if enabled else None
    with connections[router.db_for_write(Schedule)].cursor() as cursor:
        # One after the other: else two would both find room for one.
        cursor.execute(_ALONE, [str(principal.user_id)])
    if Schedule.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id).count() >= MAX_SCHEDULES:
        raise TooManySchedules(MAX_SCHEDULES)
    schedule.save(force_insert=True)
    record(None, said(schedule))
    return found(principal, schedule.pk)


def change(principal: Principal, schedule_id: Any, changes: dict[str, Any]) -> Schedule:
    """Change cron, tz, content, agent or enabled of one's own; owners may pause another's. What is switched on again is
    due from then on: nothing is made up for.

    Raises NoSuchSchedule, NotYourSchedule, InvalidSchedule, NoSuchAgent.
    """
    schedule = found(principal, schedule_id, lock=True)
    if schedule.user_id != principal.user_id:
        if changes != {"enabled": False} or "admin" not in principal.scopes:
            raise NotYourSchedule(schedule.user.get_username())
        pause(schedule, f"{principal.username} paused it, as an owner of the tenant.")
        return found(principal, schedule_id)
    before = said(schedule)
    if "content" in changes:
        schedule.content = _content(changes["content"])
    if "agent" in changes:
        schedule.agent_id = _agent_id(principal, changes["agent"])
    schedule.enabled = changes.get("enabled", schedule.enabled)
    timed = {"cron", "tz", "enabled"} & changes.keys()
    if timed and schedule.enabled:
        times = Times.read(changes.get("cron", schedule.cron), changes.get("tz", schedule.tz))
        schedule.cron, schedule.tz, schedule.next_at = times.cron, times.tz, times.after(timezone.now())
    elif timed:
        times = Times.read(changes.get("cron", schedule.cron), changes.get("tz", schedule.tz))
        schedule.cron, schedule.tz, schedule.next_at = times.cron, times.tz, None
    if "enabled" in changes:
        schedule.paused_because = ""
    schedule.save()
    record(before, said(schedule))
    return found(principal, schedule_id)


def remove(principal: Principal, schedule_id: Any) -> None:
    """Delete one's own, or as an owner another's, with its slots; its runs stay.

    Raises NoSuchSchedule, NotYourSchedule.
    """
    schedule = found(principal, schedule_id, lock=True)
    if schedule.user_id != principal.user_id and "admin" not in principal.scopes:
        raise NotYourSchedule(schedule.user.get_username())
    end(schedule)


def end(schedule: Schedule) -> None:
    """Delete it, with its slots; its runs stay."""
    before = said(schedule)
    schedule.delete()
    record(before, None)


def pause(schedule: Schedule, why: str = "") -> None:
    """Not due any more until somebody switches it on; `why` is for whose it is."""
    before = said(schedule)
    schedule.enabled, schedule.next_at, schedule.paused_because = False, None, why
    schedule.save()
    record(before, said(schedule))


def refuse_others(principal: Principal, schedule_id: Any) -> None:
    """Raise NoSuchSchedule or NotYourSchedule unless the caller may run it."""
    schedule = found(principal, schedule_id)
    if schedule.user_id != principal.user_id:
        raise NotYourSchedule(schedule.user.get_username())


def exported(principal: Principal) -> list[dict[str, Any]]:
    """All of one's own, oldest first, as JSON values."""
    own = Schedule.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id).select_related("agent")
    return [
        {
            "id": row.pk,
            "cron": row.cron,
            "tz": row.tz,
            "agent": row.agent.slug if row.agent else None,
            "content": row.content,
            "enabled": row.enabled,
            "created_at": row.created_at,
        }
        for row in own.order_by("created_at", "id")
    ]


def said(schedule: Schedule) -> Said:
    """What the record of changes says of it: of its words only that there are some."""
    return _KIND.of(schedule, user_id=str(schedule.user_id), agent_id=schedule.agent_id and str(schedule.agent_id))


def _content(content: str) -> str:
    if not content.strip() or len(content) > MAX_CONTENT or not is_plain(content):
        raise InvalidSchedule(
            f"content must be 1 to {MAX_CONTENT:,} characters, without control characters but newline and tab.",
            "content",
        )
    return content


def _agent_id(principal: Principal, slug: str | None) -> uuid.UUID | None:
    if not slug:
        return None
    agents = Schedule._meta.get_field("agent").related_model
    found = agents._default_manager.filter(tenant_id=principal.tenant_id, slug=slug, archived_at=None).first()
    if found is None:
        raise NoSuchAgent(slug)
    return uuid.UUID(str(found.pk))
