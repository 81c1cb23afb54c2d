"""What the pages of services show, read in as many statements however many services and tools there are."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from audit.templatetags.audit_text import pretty, visible
from services import shown
from services.models import Service, ServiceTool
from services.web import costs, forms

SERVICES, TOOLS = 25, 50
# Of a service in a list: the tools whose last calls say how it is.
ASKED = 20
_CHANGED = ~Q(hash=F("accepted_hash"))
SHOWN = {
    "on": Q(enabled=True) & ~_CHANGED,
    "off": Q(enabled=False) & ~_CHANGED,
    "changed": _CHANGED,
}


def services(found: Iterable[Service]) -> list[dict[str, Any]]:
    """A page of services, each with the numbers of its tools and how its last real calls went: three statements."""
    listed = list(found)
    tools = ServiceTool.objects.filter(service__in=listed)
    numbers = {
        row["service_id"]: row for row in tools.order_by().values("service_id").annotate(all=Count("pk"), **_numbers())
    }
    names: dict[uuid.UUID, list[str]] = {each.pk: [] for each in listed}
    for service_id, name in tools.filter(enabled=True).order_by("tool_name").values_list("service_id", "tool_name"):
        if len(names[service_id]) < ASKED:
            names[service_id].append(name)
    asked = [name for each in names.values() for name in each]
    last = shown.last_calls(listed[0].tenant_id, asked) if listed else {}
    connected = shown.connected(listed)
    nothing = {"all": 0, "on": 0, "off": 0, "changed": 0}
    return [
        shown.summary(each, connected)
        | {
            "numbers": numbers.get(each.pk, nothing),
            "status": shown.status({name: last[name] for name in names[each.pk] if name in last}),
        }
        for each in listed
    ]


def numbers(service: Service) -> dict[str, int]:
    """How many tools a service has, and how many are on, off, and changed since they were accepted."""
    return ServiceTool.objects.filter(service=service).aggregate(all=Count("pk"), **_numbers())


def status(service: Service) -> dict[str, Any]:
    """How the last real calls of a service went."""
    enabled = ServiceTool.objects.filter(service=service, enabled=True).order_by("tool_name")
    return shown.status(shown.last_calls(service.tenant_id, list(enabled.values_list("tool_name", flat=True)[:100])))


def tools(service: Service, words: str, which: str) -> QuerySet[ServiceTool]:
    """The tools of a service whose name or description has all of the words, and that are as `which` says."""
    found = ServiceTool.objects.filter(service=service).order_by("tool_name")
    for word in words.replace("\x00", "").split()[:10]:
        found = found.filter(Q(tool_name__icontains=word) | Q(definition__description__icontains=word))
    return found.filter(SHOWN[which]) if which in SHOWN else found


def tool(row: ServiceTool, last: shown.LastCalls | None = None) -> dict[str, Any]:
    """A tool as pages show it: as REST does, with what its definition costs."""
    about = shown.tool(row, last)
    cost = costs.tokens(row.tool_name, about["description"], row.parameters)
    labels = [(name, words, about["labels"][name]) for name, words in forms.LABEL_WORDS.items()]
    for change in (about["drift"] or {}).get("changes", ()):
        change["sides"] = _sides(change["before"], change["after"])
    # Whether its owner has switched it on, be it closed at the moment or not.
    return about | {"tokens": cost, "switched_on": row.enabled, "label_fields": labels}


def _sides(before: Any, after: Any) -> list[tuple[str, list[tuple[str, bool]]]]:
    """Both values as lines, each with whether the other value has no such line."""
    lines = [_lines(before), _lines(after)]
    known = [set(each) for each in lines]
    return [
        (label, [(line, line not in known[1 - side]) for line in lines[side]])
        for side, label in enumerate(("Accepted", "Now"))
    ]


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    return (visible(value) if isinstance(value, str) else pretty(value)).split("\n")


def _numbers() -> dict[str, Count]:
    return {name: Count("pk", filter=which) for name, which in SHOWN.items()}
