"""One thing of each kind that a route of the API has ids of, made over the API by whose it is."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.services.api import TRADING

# Method, path, JSON.
Ask = Callable[..., httpx.Response]
# By the names that parameters of routes have.
Ids = dict[str, str]

_CALLS = "\n".join((
    'call: save_note {"title": "a", "content": "b"}',
    'call: memory_store {"content": "likes tea"}',
    'call: canvas {"title": "a", "html": "<p>a</p>"}',
    'call: write_file {"path": "a.txt", "content": "a"}',
    'call: write_file {"path": "a.txt", "content": "ab"}',
))  # fmt: skip
_MAIL = 'call: send_email {"to": "a@example.com", "subject": "a", "body": "b"}'


def _made(answer: httpx.Response) -> Any:
    assert answer.status_code in (200, 201, 202, 204), answer.text
    return answer.json() if answer.content else None


def _by_post(path: str, body: dict[str, Any], name: str = "id") -> Callable[[Ask], Ids]:
    def make(ask: Ask) -> Ids:
        made = _made(ask("POST", f"/api/v1/{path}/", json=body))
        return {name: (made.get("results") or [made])[0][name]}

    return make


def _conversation(ask: Ask) -> Ids:
    run = _made(ask("POST", "/api/v1/chat", json={"content": _CALLS, "wait": 60}))
    assert [call["status"] for call in run["tool_calls"]] == ["success"] * 5, run["tool_calls"]
    files = _made(ask("GET", f"/api/v1/conversations/{run['conversation_id']}/files/"))["results"]
    return {"id": run["conversation_id"], "file_id": files[0]["id"], "version": "1"}


def _run(ask: Ask) -> Ids:
    run = _made(ask("POST", "/api/v1/chat", json={"content": "hello", "wait": 60}))
    return {"run_id": run["run_id"]}


def _listed(path: str, first: Callable[[Ask], Any] | None = None) -> Callable[[Ask], Ids]:
    def find(ask: Ask) -> Ids:
        if first:
            first(ask)
        return {"id": _made(ask("GET", f"/api/v1/{path}/"))["results"][0]["id"]}

    return find


def _request(ask: Ask) -> Ids:
    run = _made(ask("POST", "/api/v1/chat", json={"content": _MAIL}))
    return {"id": run["required_action"]["approvals"][0]["id"]}


def _soon() -> str:
    return (datetime.now(UTC) + timedelta(hours=12)).isoformat()


def _reminder(ask: Ask) -> Ids:
    return {"id": _made(ask("POST", "/api/v1/reminders/", json={"text": "a", "at": _soon()}))["id"]}


def _message(ask: Ask) -> Any:
    content = 'call: message {"to": "inbox", "text": "a"}'
    run = _made(ask("POST", "/api/v1/chat", json={"content": content, "wait": 60}))
    assert [call["status"] for call in run["tool_calls"]] == ["success"], run["tool_calls"]


def _service(ask: Ask) -> Ids:
    url = "https://93.184.215.14/"
    _made(
        ask(
            "POST",
            "/api/v1/services/",
            json={
                "slug": "desk",
                "kind": "http",
                "url": url,
                "descriptor": TRADING,
                "credential": {"type": "none"},
            },
        )
    )
    return {"slug": "desk", "tool": "get_order"}


def _agent(ask: Ask) -> Ids:
    return _by_post("agents", {"slug": "theirs", "name": "a"}, "slug")(ask) | {"number": "1"}


def _member(ask: Ask) -> Ids:
    return {"id": _made(ask("GET", "/api/v1/members/"))["results"][0]["user"]["id"]}


_RULE = {"name": "a", "effect": "deny", "tool": "complete_task"}
_CONDITION = {"name": "a", "tool": "complete_task", "condition": {"required": ["args"]}}
_WEBHOOK = {"channel": "webhook", "destination": "https://hooks.example.com/a"}
_FAR_OFF = {"cron": "0 0 29 2 *", "tz": "UTC", "content": "hello"}
# By the beginning of the routes, after /api/v1/: of nobody but the member who made it.
PERSONAL: dict[str, Callable[[Ask], Ids]] = {
    "conversations": _conversation,
    "destinations": _by_post("destinations", _WEBHOOK | {"name": "hook"}),
    "inbox": _listed("inbox", _message),
    "memories": _listed("memories"),
    "notes": _by_post("notes", {"title": "a", "content": "b"}),
    "reminders": _reminder,
    "runs": _run,
    "tasks": _by_post("tasks", {"title": "a"}),
}
# Of the tenant: who may read or change it, the table of rights says.
OF_TENANT: dict[str, Callable[[Ask], Ids]] = {
    "access-conditions": _by_post("access-conditions", _CONDITION),
    "agents": _agent,
    "approval-rules": _by_post("approval-rules", _RULE),
    "approvals": _request,
    "budgets": _by_post("budgets", {"unit": "usd", "window": "month", "limit": "50"}),
    "grants": _by_post("grants", {"tool": "complete_task", "effect": "deny", "role": "auditor"}),
    "invitations": _by_post("invitations", {"role": "member"}),
    "keys": _by_post("keys", {"name": "a"}),
    "kill-switches": _by_post("kill-switches", {"target": {"tool": "add_task"}, "reason": "a"}),
    "members": _member,
    "notification-targets": _by_post("notification-targets", _WEBHOOK | {"events": ["approval.requested"]}),
    "schedules": _by_post("schedules", _FAR_OFF),
    "services": _service,
    "tool-calls": _listed("tool-calls"),
}
