"""What the record of changes says of a tool's setting, and of a grant."""

from tenants.people.changes import Kind, Said


def _raises(before: Said | None, after: Said | None) -> bool:
    """A tool that was off is on, or fewer people have to approve its calls.

    Tiers and rates are compared with the tool's own where they are said (`gateway.runs.agents.tool_settings`).
    """
    if before is None:
        return False
    needed = after.values["approvals_needed"] if after else 1
    is_on = after is None or after.values["enabled"]
    return (is_on and not before.values["enabled"]) or needed < before.values["approvals_needed"]


SETTING = Kind(
    target="tool_setting",
    name="tool_name",
    fields=("enabled", "rate", "tier", "approvals_needed", "approval_seconds"),
    raises=_raises,
)


def _gives(before: Said | None, after: Said | None) -> bool:
    """An allow that is there, or a deny that is not there any more."""
    old, new = (each.values["effect"] if each else "" for each in (before, after))
    return (new == "allow" and old != "allow") or (old == "deny" and new != "deny")


GRANT = Kind(target="grant", name="tool_name", fields=("effect", "user_id", "role"), raises=_gives)
