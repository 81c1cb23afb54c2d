"""What the record of changes says of services and their tools."""

from services.models import Service, ServiceTool
from tenants.people import raising
from tenants.people.changes import Kind, Said
from tools.interface import Tier

_LABELS = ("reads_private", "reads_untrusted", "leaves_tenant")
_called_otherwise = raising.while_on("url", "identity", "header", "oauth", "secret")


def _service_raises(before: Said | None, after: Said | None) -> bool:
    """A service that was there is switched on, or called elsewhere or as somebody else.

    A new one has no tool that is switched on, and one without a credential does no more than before.
    """
    if before is None or after is None:
        return False
    if after.values["identity"] == Service.Identity.NONE and after.values["url"] == before.values["url"]:
        return raising.switched_on(before, after)
    return _called_otherwise(before, after)


def _tool_raises(before: Said | None, after: Said | None) -> bool:
    """A tool is switched on; or one that is on has a lower tier, another definition, or a label less."""
    if raising.switched_on(before, after):
        return True
    if before is None or after is None or not raising.is_on(after):
        return False
    was, now = before.values, after.values
    return (
        Tier(now["tier"]).rank < Tier(was["tier"]).rank
        or now["accepted_hash"] != was["accepted_hash"]
        or any(was[label] and not now[label] for label in _LABELS)
    )


_SERVICE = Kind(
    target="service",
    name="slug",
    fields=(
        *(
            "kind",
            "url",
            "enabled",
            "identity",
            "header",
            "oauth",
            "timeout",
            "operations",
            "in_prompts",
            "skill",
            "feeds",
        ),
        "description",
    ),
    secrets=("secret",),
    raises=_service_raises,
)
_TOOL = Kind(
    target="service_tool",
    name="tool_name",
    fields=(
        *("enabled", "tier", "idempotent", "parallel_safe", *_LABELS),
        *("accepted_hash", "hash"),
    ),
    raises=_tool_raises,
)


def service(row: Service) -> Said:
    """Of a service; of the address of its document without the query, which can hold a secret."""
    return _SERVICE.of(row, source_url=row.source_url.partition("?")[0])


def tool(row: ServiceTool) -> Said:
    """Of a service's tool: what its tenant says of it, which definition is accepted, and which one is offered."""
    return _TOOL.of(row)
