"""A tenant's tools with what is said of each, and changing that: the process's own, and those of its services.

Of a service's tool its service says whether it is on, and its tier; the rest is a tool's setting, whosever it is.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from services import changes as service_changes
from services import queries, recorded
from services.models import ServiceTool
from services.web import costs
from tenants.people.changes import revision
from tools.gates import rate_counter
from tools.gates.policy import Setting, effective_tier
from tools.interface import Tier, Tool
from tools.models import ToolSetting
from tools.registry import registry
from tools.settings import changes
from tools.settings.errors import InvalidToolSetting, NoSuchTool
from tools.settings.recorded import SETTING

FIELDS = ("enabled", "tier", "rate", "approvals_needed", "approval_expires")


@dataclass(frozen=True, slots=True)
class TenantTool:
    """A tool of a tenant; `row` is its service's, None for one of this process."""

    tool: Tool
    setting: Setting
    row: ServiceTool | None = None
    stored: ToolSetting | None = None

    @property
    def revision(self) -> str:
        """Names what is said of it, with what its service says; as `found` made it."""
        said = {SETTING.target: None if self.stored is None else SETTING.of(self.stored)}
        return revision(**said | ({} if self.row is None else {"service_tool": recorded.tool(self.row)}))

    @property
    def service(self) -> str:
        """The slug of its service; empty for one of this process."""
        return self.tool.name.partition(".")[0] if self.row is not None else ""

    @property
    def place(self) -> str:
        """Where it is in lists: those of this process come first, each group by name."""
        return f"{int(self.row is not None)} {self.tool.name}"

    @property
    def enabled(self) -> bool:
        """Whether its owners have it on; one of a service may be closed all the same."""
        return self.setting.enabled and (self.row is None or self.row.enabled)

    @property
    def tier(self) -> Tier:
        """The tier that gates go by."""
        return effective_tier(self.tool, self.setting.tier)

    @property
    def rate(self) -> str:
        """How often each user may call it."""
        return self.setting.rate or self.tool.rate

    def body(self) -> dict[str, Any]:
        """As REST and pages show it."""
        return {
            "tool": self.tool.name,
            "service": self.service or None,
            "description": self.tool.description,
            "enabled": self.enabled,
            "tier": self.tier.value,
            "declared_tier": self.tool.tier.value,
            "rate": self.rate,
            "declared_rate": self.tool.rate,
            "approvals_needed": self.setting.approvals_needed,
            "approval_expires": self.setting.approval_seconds,
            "tokens": costs.tokens(self.tool.name, self.tool.description, self.tool.parameters),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """A change of what is said of a tool, checked and not made: `said` are columns of its setting, `of_service` what
    its service is told. `raises`: what calls may do then that they could not, a sentence each."""

    tenant_id: uuid.UUID
    before: TenantTool
    said: dict[str, Any] = field(default_factory=dict)
    of_service: dict[str, Any] = field(default_factory=dict)
    raises: tuple[str, ...] = ()


def of_process() -> list[Tool]:
    """The tools of this process that are in lists, and that the operator lets tenants call."""
    allowed = settings.TOOLGATE_ALLOWED_TOOLS
    return [each for each in registry().all() if each.listed and (allowed is None or each.name in allowed)]


def of_tenant(tenant_id: uuid.UUID, service: str | None = None) -> list[TenantTool]:
    """The tenant's tools, those of this process first, each group by name; of one service alone, "" for the process.

    Two statements, however many tools there are.
    """
    said = {row.tool_name: _setting(row) for row in ToolSetting.objects.filter(tenant_id=tenant_id)}
    tools = [] if service else [TenantTool(each, said.get(each.name, Setting())) for each in of_process()]
    if service == "":
        return tools
    rows = ServiceTool.objects.filter(tenant_id=tenant_id).select_related("service").order_by("tool_name")
    for row in rows.filter(service__slug=service) if service else rows:
        tools.append(TenantTool(queries.as_tool(row), said.get(row.tool_name, Setting()), row))
    return tools


def found(tenant_id: uuid.UUID, name: str) -> TenantTool:
    """One of the tenant's tools; raises NoSuchTool."""
    own = next((each for each in of_process() if each.name == name), None)
    row = None
    if own is None and "\x00" not in name:
        rows = ServiceTool.objects.filter(tenant_id=tenant_id, tool_name=name).select_related("service")
        row = rows.first()
    if own is None and row is None:
        raise NoSuchTool(name)
    stored = changes.of(tenant_id, name)
    setting = _setting(stored) if stored else Setting()
    return TenantTool(own or queries.as_tool(row), setting, row, stored)  # type: ignore[arg-type]


def exists(tenant_id: uuid.UUID, name: str) -> bool:
    """Whether the tenant has the tool, or for `service.*` a tool of that service."""
    names = (*registry().names(listed=True), *queries.names(tenant_id))
    if name.endswith(".*"):
        return any(each.startswith(name[:-1]) for each in names)
    return name in names


def plan(tenant_id: uuid.UUID, name: str, given: Mapping[str, Any]) -> Plan:
    """What a change of a tool comes to, nothing being made; raises NoSuchTool and InvalidToolSetting.

    `given` may have what FIELDS name; null stands for the tool's own, and what is left out stays.
    """
    before = found(tenant_id, name)
    given = dict(given)
    of_service: dict[str, Any] = {}
    said: dict[str, Any] = {}
    if before.row is not None:
        if "tier" in given and (tier := given.pop("tier")) is not None:
            of_service["tier"] = _tier_of_service(name, tier)
            said["tier"] = ""
        if "enabled" in given:
            [of_service["enabled"]] = changes.read(before.tool, {"enabled": given["enabled"]}).values()
            # Only what was switched off here is switched on here.
            given["enabled"] = True
    said |= changes.read(before.tool, given)
    # What is so already is not said again.
    of_service = {key: value for key, value in of_service.items() if getattr(before.row, key) != value}
    return Plan(tenant_id, before, said, of_service, tuple(_raised(before, said, of_service)))


def carry_out(planned: Plan) -> TenantTool:
    """Make the change, in the caller's transaction; the tool as it is then. Raises NoSuchService where it has gone."""
    before = planned.before
    if planned.of_service and before.row is not None:
        service_changes.change_tool(before.service, before.row.name, planned.of_service, tenant_id=planned.tenant_id)
    changes.save(planned.tenant_id, before.tool.name, planned.said)
    return found(planned.tenant_id, before.tool.name)


def _tier_of_service(name: str, value: Any) -> str:
    if value not in list(Tier):
        raise InvalidToolSetting(f"tier must be one of {', '.join(Tier)}.", "tier")
    changes.check_floor(name, Tier(value))
    return str(value)


def _raised(before: TenantTool, said: dict[str, Any], of_service: dict[str, Any]) -> list[str]:
    found = []
    # The least that a call has: it is what falls, where tiers go by arguments.
    present = effective_tier(before.tool, before.setting.tier, before.tool.least_tier)
    declared = Tier(of_service.get("tier", before.tool.least_tier or before.tool.tier))
    floor = settings.TOOLGATE_TOOL_TIERS.get(before.tool.name, "")
    tiers = [declared, *(Tier(each) for each in (floor, said.get("tier", before.setting.tier)) if each)]
    tier = max(tiers, key=lambda each: each.rank)
    if tier.rank < present.rank:
        waits = " Its calls do not wait for a human any more." if present is Tier.ELEVATED else ""
        found.append(f"The tier of {before.tool.name} falls from {present} to {tier}.{waits}")
    needed = said.get("approvals_needed", before.setting.approvals_needed)
    if needed < before.setting.approvals_needed:
        found.append(f"{needed} instead of {before.setting.approvals_needed} people have to approve its calls.")
    rate = said.get("rate", before.setting.rate) or before.tool.rate
    if not rate_counter.within(rate, before.rate):
        found.append(f"Each user may call it {rate} instead of {before.rate}.")
    return found


def _setting(row: ToolSetting) -> Setting:
    return Setting(row.enabled, row.rate, row.tier, row.approvals_needed, row.approval_seconds)
