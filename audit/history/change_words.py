"""Changes of settings in words: what changed, by kind, and the values of its fields."""

import json
import re
from typing import Any

# What each kind of setting is called; a kind that is not here is called by its name.
KINDS = {
    "access_condition": "Access condition",
    "agent": "Agent",
    "alert_level": "Alert level",
    "alert_webhook": "Webhook of the alert level",
    "approval_rule": "Approval rule",
    "budget": "Budget",
    "connection": "Connected account",
    "destination": "Destination of messages",
    "domain": "Domain of single sign-on",
    "grant": "Grant",
    "invitation": "Invitation",
    "key": "API key",
    "kill_switch": "Kill switch",
    "member": "Member",
    "memory": "Shared memory",
    "models": "Models",
    "notification_target": "Notification target",
    "provider": "Provider of models",
    "request_limits": "Limits of requests",
    "schedule": "Schedule",
    "service": "Service",
    "service_tool": "Tool of a service",
    "sign_on": "Single sign-on",
    "tenant": "Tenant",
    "tool_setting": "Tool setting",
}
_FIELDS = {
    "accepted_at": "accepted",
    "accepted_by_id": "accepted by",
    "active": "account is open",
    "approvals_needed": "approvals needed",
    "created_by_id": "made by",
    "enabled": "switched on",
    "expires_at": "ends",
    "fetch_hosts": "hosts that are fetched from without a human",
    "max_tier": "highest tier",
    "retention_days": "days that payloads are kept",
    "revoked_at": "revoked",
    "second_factor_required": "sessions need a second factor",
    "taint": "calls that reach outside after private data and strangers' words",
    "user_id": "person",
}
_LONGEST = 300
# As moments are recorded.
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+\+00:00")


def kind(target: str) -> str:
    """What a kind of setting is called."""
    return KINDS.get(target) or target.replace("_", " ").capitalize()


def field(name: str) -> str:
    """What a field is called."""
    return _FIELDS.get(name) or name.replace("_", " ")


def value(given: Any, people: dict[str, str]) -> str:
    """A value as a line of text; a person's id as their name where that is known."""
    if given is None or given == "":
        return "nothing"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, dict) and set(given) == {"sha256", "bytes"}:
        return f"{given['bytes']:,} bytes with the hash {given['sha256']}"
    if isinstance(given, str) and (moment := _MOMENT.fullmatch(given)):
        return f"{moment[1]} {moment[2]} UTC"
    if isinstance(given, dict) and len(given) == 1 and "tenant" in given:
        return "the whole tenant"
    if isinstance(given, dict) and set(given) == {"user"}:
        given = given["user"]
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    text = people.get(text, text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
