"""What an owner typed about a tool, as the body that REST takes."""

from typing import Any

from django.http import QueryDict

from gateway.runs.agents.tool_settings import TenantTool
from tools.settings.errors import InvalidToolSetting

# What a call may wait for its approvals: seconds, and words.
WAITS = (
    (900, "15 minutes"),
    (3_600, "an hour"),
    (14_400, "4 hours"),
    (86_400, "a day"),
    (259_200, "3 days"),
    (604_800, "a week"),
    (2_592_000, "30 days"),
)


def given(post: QueryDict, found: TenantTool) -> dict[str, Any]:
    """All that is said of the tool; an empty field is the tool's own. Raises InvalidToolSetting."""
    return {
        "enabled": "enabled" in post,
        "tier": post.get("tier") or None,
        "rate": post.get("rate", "").strip() or None,
        "approvals_needed": _number(post, "approvals_needed"),
        "approval_expires": _number(post, "approval_expires"),
    }


def waits(present: int) -> list[tuple[int, str]]:
    """The choices of how long a call may wait, the present one among them."""
    known = dict(WAITS)
    return sorted((known | {present: known.get(present, f"{present:,} seconds")}).items())


def _number(post: QueryDict, name: str) -> int | None:
    text = post.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidToolSetting(f"{name.replace('_', ' ').capitalize()} must be a whole number.", name)
    return int(text)
