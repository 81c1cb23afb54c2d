"""Putting kill switches on and off: the same for pages, REST, the admin and commands. Each change is on record.

Whose a switch is decides who may end it: an owner's those of their tenant, the operator's only the operator.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import router, transaction
from django.db.models import Q

from tenants.models import KillSwitch, Tenant
from tenants.people import raising
from tenants.people.changes import Kind as Recorded
from tenants.people.changes import Said, actor, record_all
from tenants.switches import reading, targets
from tenants.switches.errors import InvalidSwitch, NoSuchSwitch, OperatorsSwitch

Kind = KillSwitch.Kind
# What an owner may name, as REST calls it.
OF_TENANT = (Kind.TOOL, Kind.SERVICE, Kind.AGENT, Kind.USER, Kind.MODEL, Kind.TENANT)
# What an operator may stop for all tenants.
OF_ALL = (Kind.TOOL, Kind.SERVICE, Kind.MODEL, Kind.EVERYTHING)
# Every turn of every member reads those that are on.
MOST = 200
MAX_REASON, MAX_TARGET = 500, 200
_SAID = Recorded(
    target="kill_switch",
    name="label",
    fields=("kind", "target", "reason", "until", "by_operator"),
    raises=raising.removed,
)


@dataclass(frozen=True, slots=True)
class NewSwitch:
    """What is to be stopped, why, and until when; `until` None: until somebody ends it."""

    kind: str
    target: str
    reason: str
    until: datetime | None = None


def check(tenant_id: uuid.UUID | None, wanted: NewSwitch, *, by_operator: bool = False) -> KillSwitch:
    """The switch as it would be put on. Raises InvalidSwitch."""
    if tenant_id is None and not by_operator:
        raise InvalidSwitch("Only the operator stops something of every tenant.", "target")
    made = KillSwitch(
        tenant_id=tenant_id,
        kind=_kind(wanted.kind, tenant_id),
        target="",
        reason=_reason(wanted.reason),
        until=_until(wanted.until),
        by_operator=by_operator,
        set_by_id=actor().user_id,
    )
    if len(wanted.target) > MAX_TARGET:
        raise InvalidSwitch(f"A target has up to {MAX_TARGET} characters.", "target")
    made.target = targets.find(tenant_id, made.kind, wanted.target) if made.kind != Kind.EVERYTHING else ""
    return made


def put_on(tenant_id: uuid.UUID | None, wanted: NewSwitch, *, by_operator: bool = False) -> KillSwitch:
    """Stop something from now on, by whoever acts; of all tenants without a `tenant_id`, which only operators may.

    It holds for the next claim of a call, the next request and the next turn. Raises InvalidSwitch.
    """
    made = check(tenant_id, wanted, by_operator=by_operator)
    with transaction.atomic(using=router.db_for_write(KillSwitch)):
        where = Q(tenant=None) if tenant_id is None else Q(tenant_id=tenant_id)
        of_same = KillSwitch.objects.filter(where, by_operator=by_operator)
        # What has ended by itself stays on record in the ledger.
        of_same.filter(until__lte=datetime.now(UTC)).delete()
        if of_same.count() >= MOST:
            raise InvalidSwitch(f"{MOST} kill switches are on, and no more can be; end one first.")
        made.created_at = datetime.now(UTC)
        made.save(force_insert=True)
        record_all((None, said) for said in what_is_said(made))
    return made


def end(tenant_id: uuid.UUID, switch_id: uuid.UUID) -> None:
    """Let go on what one of the tenant's own switches stopped. Raises NoSuchSwitch, OperatorsSwitch."""
    with transaction.atomic(using=router.db_for_write(KillSwitch)):
        found = KillSwitch.objects.filter(tenant_id=tenant_id, by_operator=False, pk=switch_id)
        switch = found.first()
        # Whoever deletes it puts that on record.
        if switch is None or not found.delete()[0]:
            raise OperatorsSwitch if _is_operators(switch_id) else NoSuchSwitch(switch_id)
        record_all((said, None) for said in what_is_said(switch))


def end_any(switch_id: uuid.UUID) -> KillSwitch:
    """The same of whatever tenant and by whomever it was put on, for operators. Raises NoSuchSwitch."""
    with transaction.atomic(using=router.db_for_write(KillSwitch)):
        switch = KillSwitch.objects.filter(pk=switch_id).first()
        if switch is None or not KillSwitch.objects.filter(pk=switch_id).delete()[0]:
            raise NoSuchSwitch(switch_id)
        record_all((said, None) for said in what_is_said(switch))
    return switch


def are_on() -> Any:
    """A condition of those that have not ended by themselves."""
    return Q(until=None) | Q(until__gt=datetime.now(UTC))


def what_is_said(switch: KillSwitch) -> Iterable[Said]:
    """What the record says of a switch; of one about all tenants, in the record of each."""
    if switch.tenant_id is not None:
        yield _SAID.of(_Named(switch, switch.tenant_id))
        return
    for tenant_id in Tenant.objects.order_by("id").values_list("id", flat=True):
        yield _SAID.of(_Named(switch, tenant_id))


class _Named:
    """A switch as the record of one tenant has it."""

    def __init__(self, switch: KillSwitch, tenant_id: uuid.UUID):
        self.tenant_id, self.label, self.pk = tenant_id, str(switch), switch.pk
        self.kind, self.target, self.reason = switch.kind, switch.target, switch.reason
        self.until, self.by_operator = switch.until, switch.by_operator


def _kind(kind: str, tenant_id: uuid.UUID | None) -> str:
    allowed = OF_ALL if tenant_id is None else OF_TENANT
    if kind not in allowed:
        raise InvalidSwitch(f"What is stopped must be one of {', '.join(allowed)}.", "target")
    return str(kind)


def _reason(reason: str) -> str:
    if not 0 < len(reason.strip()) <= MAX_REASON or not reason.isprintable():
        raise InvalidSwitch(f"Say why, in one line of up to {MAX_REASON} characters.", "reason")
    return reason.strip()


def _until(until: datetime | None) -> datetime | None:
    if until is None:
        return None
    if until.tzinfo is None:
        raise InvalidSwitch("until must say its time zone, such as 2026-01-31T18:00:00Z.", "until")
    if until <= datetime.now(UTC):
        raise InvalidSwitch("until must be in the future.", "until")
    return until


def _is_operators(switch_id: uuid.UUID) -> bool:
    return any(each.id == switch_id and each.by_operator for each in reading.on_now())
