"""Kill switches over REST: what they stop, what is said about them, who puts them on and off."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from gateway.models import Agent
from tenants.people import changes
from tenants.scope.routing import on_login
from tenants.switches import changes as switches
from tenants.switches.changes import NewSwitch
from tests.approvals.api import decide
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import until

NOTE = 'call: save_note {"title": "a", "content": "b"}'
MAIL = {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}


def post(stack: Stack, person: Person, path: str, body: Any) -> httpx.Response:
    """One request as a person."""
    return httpx.post(f"{stack.url}{path}", json=body, headers=person.headers)


def stop(stack: Stack, person: Person, target: dict[str, str], **more: Any) -> httpx.Response:
    """Put a switch on."""
    return post(stack, person, "/api/v1/kill-switches/", {"target": target, "reason": "It misbehaves.", **more})


def end(stack: Stack, person: Person, switch: str) -> httpx.Response:
    """End one."""
    return httpx.delete(f"{stack.url}/api/v1/kill-switches/{switch}/", headers=person.headers)


def call(stack: Stack, person: Person, tool: str = "save_note", **arguments: str) -> dict[str, Any]:
    """A call without a chat."""
    given = arguments or {"title": "a", "content": "b"}
    return dict(post(stack, person, f"/api/v1/tools/{tool}/calls", {"arguments": given, "wait": 60}).json())


def _notes(tenant: Cast) -> int:
    return len(rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id))


def _by_operator(tenant_id: uuid.UUID | None, wanted: NewSwitch) -> uuid.UUID:
    with on_login("operator"), changes.acting(None, "command"):
        return switches.put_on(tenant_id, wanted, by_operator=True).pk


def test_a_tool_that_is_stopped_is_refused_with_who_why_until_when_and_who_can_end_it(
    stack: Stack, tenant: Cast
) -> None:
    ends = datetime.now(UTC) + timedelta(hours=1)
    made = stop(stack, tenant.olga, {"tool": "save_note"}, until=ends.isoformat())
    assert made.status_code == 201, made.text
    shown = made.json()
    assert {name: shown[name] for name in ("target", "reason", "set_by", "by_operator")} == {
        "target": {"tool": "save_note"},
        "reason": "It misbehaves.",
        "set_by": tenant.olga.username,
        "by_operator": False,
    }
    assert datetime.fromisoformat(shown["until"]) == ends
    refused = call(stack, tenant.alice)
    assert (refused["status"], refused["error"]["code"]) == ("error", "killed")
    assert refused["error"]["message"] == (
        f"The tool save_note was stopped by {tenant.olga.username} at {_moment(shown['created_at'])}, until "
        f"{_moment(shown['until'])}. Reason: It misbehaves. The call did not run. Do not try again. Tell the user: An "
        f"owner of the tenant can end that ({stack.url}/settings/safety/)."
    )
    assert _notes(tenant) == 0
    gates = stack.get(tenant.alice, "/api/v1/tools/save_note/access").json()["gates"]
    assert [gate["gate"] for gate in gates if not gate["ok"]] == ["kill_switch"]
    # Another tool, and the same one once the switch is ended.
    assert call(stack, tenant.alice, "add_task", title="x")["status"] == "success"
    assert end(stack, tenant.olga, shown["id"]).status_code == 204
    assert call(stack, tenant.alice)["status"] == "success"
    assert _notes(tenant) == 1


def _moment(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def test_a_call_that_waits_for_an_approval_is_stopped_when_it_is_approved(stack: Stack, tenant: Cast) -> None:
    answer = post(stack, tenant.alice, "/api/v1/tools/send_email/calls", {"arguments": MAIL})
    held = answer.json()
    assert held["status"] == "awaiting_approval"
    assert stop(stack, tenant.olga, {"tool": "send_email"}).status_code == 201
    assert decide(stack, tenant.carol, held["approval_id"], "approve").status_code == 200

    def settled() -> list[dict[str, Any]]:
        return rows("SELECT error_code FROM tool_calls WHERE id = %(i)s AND status = 'error'", i=held["id"])

    assert until(settled) == [{"error_code": "killed"}]


@pytest.mark.parametrize("kind", ["agent", "user", "model", "models", "tenant"])
def test_a_new_chat_is_refused_over_every_api(stack: Stack, tenant: Cast, kind: str) -> None:
    target = {
        "agent": {"agent": "default"},
        "user": {"user": tenant.alice.username},
        "model": {"model": "offline/demo"},
        "models": {"model": "offline/*"},
        "tenant": {"tenant": tenant.slug},
    }[kind]
    assert stack.chat(tenant.alice, "hello").status_code == 200
    assert stop(stack, tenant.olga, target).status_code == 201
    ours = stack.chat(tenant.alice, "hello")
    assert (ours.status_code, ours.json()["code"], ours.json()["until"]) == (403, "killed", None)
    assert "It misbehaves." in ours.json()["detail"]
    said = {"model": "offline/demo", "messages": [{"role": "user", "content": "hello"}]}
    openai = post(stack, tenant.alice, "/v1/chat/completions", said)
    assert (openai.status_code, openai.json()["error"]["code"]) == (403, "killed")
    anthropic = post(stack, tenant.alice, "/v1/messages", said | {"max_tokens": 100})
    assert (anthropic.status_code, anthropic.json()["error"]["type"]) == (403, "permission_error")
    assert len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)) == 1
    if kind == "user":
        assert stack.chat(tenant.bob, "hello").status_code == 200
        assert call(stack, tenant.alice)["error"]["code"] == "killed"
    if kind == "tenant":
        assert call(stack, tenant.bob)["error"]["code"] == "killed"


def test_a_turn_of_a_run_under_way_is_not_asked_for_once_its_agent_is_stopped(stack: Stack, tenant: Cast) -> None:
    begun = stack.chat(tenant.alice, f"call: send_email {json.dumps(MAIL)}").json()
    assert begun["status"] == "requires_action"
    assert stop(stack, tenant.olga, {"agent": "default"}).status_code == 201
    [asked] = begun["required_action"]["approvals"]
    assert decide(stack, tenant.carol, asked["id"], "approve").status_code == 200
    ended = until(lambda: _ended(stack, tenant, begun["run_id"]))
    assert (ended["status"], ended["error"]["code"]) == ("failed", "killed")
    assert [each["error"]["code"] for each in ended["tool_calls"]] == ["killed"]
    turns = rows("SELECT number FROM turns WHERE tenant_id = %(t)s", t=tenant.id)
    assert turns == [{"number": 1}]


def _ended(stack: Stack, tenant: Cast, run_id: str) -> dict[str, Any] | None:
    run = dict(stack.get(tenant.alice, f"/api/v1/runs/{run_id}").json())
    return run if run["status"] in ("failed", "completed", "incomplete", "cancelled") else None


def test_a_switch_ends_by_itself(stack: Stack, tenant: Cast) -> None:
    made = stop(stack, tenant.olga, {"tool": "save_note"}, until=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    assert call(stack, tenant.alice)["error"]["code"] == "killed"
    # Its time passes.
    past = datetime.now(UTC) - timedelta(seconds=1)
    rows("UPDATE kill_switches SET until = %(u)s WHERE id = %(i)s RETURNING id", u=past, i=made.json()["id"])
    assert call(stack, tenant.alice)["status"] == "success"
    assert stack.get(tenant.olga, "/api/v1/kill-switches/").json()["results"] == []


def test_only_owners_put_switches_on_and_off_and_who_audits_reads_them(stack: Stack, tenant: Cast) -> None:
    made = stop(stack, tenant.olga, {"tool": "save_note"}).json()
    for person in (tenant.alice, tenant.carol, tenant.dana):
        assert stop(stack, person, {"tool": "add_task"}).status_code == 403
        assert end(stack, person, made["id"]).status_code == 403
    assert stack.get(tenant.alice, "/api/v1/kill-switches/").status_code == 403
    for person in (tenant.carol, tenant.dana, tenant.olga):
        assert stack.get(person, "/api/v1/kill-switches/").json()["results"] == [made]
        assert stack.get(person, f"/api/v1/kill-switches/{made['id']}/").json() == made
    assert len(rows("SELECT id FROM kill_switches WHERE tenant_id = %(t)s", t=tenant.id)) == 1


def test_another_tenants_switch_stops_nothing_here_and_is_not_there(
    stack: Stack, tenant: Cast, other_tenant: Cast
) -> None:
    made = stop(stack, other_tenant.olga, {"tool": "save_note"}).json()
    assert call(stack, tenant.alice)["status"] == "success"
    assert end(stack, tenant.olga, made["id"]).status_code == 404
    assert stack.get(tenant.olga, f"/api/v1/kill-switches/{made['id']}/").status_code == 404
    assert stack.get(tenant.olga, "/api/v1/kill-switches/").json()["results"] == []
    assert call(stack, other_tenant.alice)["error"]["code"] == "killed"


def test_an_owner_sees_and_cannot_end_what_the_operator_has_stopped(stack: Stack, tenant: Cast) -> None:
    switch = _by_operator(tenant.id, NewSwitch("tool", "save_note", "Under investigation"))
    refused = call(stack, tenant.alice)
    assert refused["error"]["message"].startswith("The tool save_note was stopped by the operator at ")
    assert "Only the operator of this Toolgate can end that." in refused["error"]["message"]
    [shown] = stack.get(tenant.olga, "/api/v1/kill-switches/").json()["results"]
    assert (shown["id"], shown["by_operator"], shown["set_by"]) == (str(switch), True, None)
    answer = end(stack, tenant.olga, str(switch))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert call(stack, tenant.alice)["error"]["code"] == "killed"
    with on_login("operator"):
        switches.end_any(switch)
    assert call(stack, tenant.alice)["status"] == "success"


def test_each_on_and_off_is_an_entry_of_the_ledger(stack: Stack, tenant: Cast) -> None:
    made = stop(stack, tenant.olga, {"user": tenant.alice.username}).json()
    end(stack, tenant.olga, made["id"])
    found = stack.get(tenant.olga, "/api/v1/changes/?target=kill_switch").json()["results"]
    assert [(each["action"], each["name"]) for each in found] == [
        ("deleted", f"user {tenant.alice.scope.user_id}"),
        ("created", f"user {tenant.alice.scope.user_id}"),
    ]
    entries = rows("SELECT kind FROM ledger_entries WHERE tenant_id = %(t)s AND kind = 'changed'", t=tenant.id)
    assert len(entries) == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"target": {"tool": "save_notes"}, "reason": "x"}, "target"),
        ({"target": {"service": "save_note"}, "reason": "x"}, "target"),
        ({"target": {"agent": "nobody"}, "reason": "x"}, "target"),
        ({"target": {"user": "nobody"}, "reason": "x"}, "target"),
        ({"target": {"user": str(uuid.UUID(int=1))}, "reason": "x"}, "target"),
        ({"target": {"model": "demo"}, "reason": "x"}, "target"),
        ({"target": {"model": "*"}, "reason": "x"}, "target"),
        ({"target": {"model": "offline/de*mo"}, "reason": "x"}, "target"),
        ({"target": {"tenant": "another"}, "reason": "x"}, "target"),
        ({"target": {"everything": ""}, "reason": "x"}, "target"),
        ({"target": {"planet": "earth"}, "reason": "x"}, "target"),
        ({"target": {}, "reason": "x"}, "target"),
        ({"target": {"tool": "save_note", "agent": "default"}, "reason": "x"}, "target"),
        ({"target": {"tool": "save\u0000note"}, "reason": "x"}, None),
        ({"target": {"tool": "s" * 201}, "reason": "x"}, "target"),
        ({"target": {"tool": "save_note"}, "reason": " "}, None),
        ({"target": {"tool": "save_note"}, "reason": "a\u202eb"}, "reason"),
        ({"target": {"tool": "save_note"}, "reason": "x" * 501}, None),
        ({"target": {"tool": "save_note"}}, None),
        ({"target": {"tool": "save_note"}, "reason": "x", "until": "2020-01-01T00:00:00Z"}, "until"),
        ({"target": {"tool": "save_note"}, "reason": "x", "until": "soon"}, None),
        ({"target": {"tool": "save_note"}, "reason": "x", "for": 1}, "for"),
    ],
    ids=str,
)
def test_what_would_stop_nothing_is_refused(
    stack: Stack, tenant: Cast, body: dict[str, Any], field: str | None
) -> None:
    answer = post(stack, tenant.olga, "/api/v1/kill-switches/", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), answer.text
    if field is not None:
        assert answer.json()["field"] == field
    assert rows("SELECT id FROM kill_switches WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert call(stack, tenant.alice)["status"] == "success"


def test_an_agent_that_is_not_stopped_goes_on(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        Agent.objects.create(tenant_id=tenant.id, slug="other", name="Other", tools="all")
    stop(stack, tenant.olga, {"agent": "default"})
    assert stack.chat(tenant.alice, "hello").status_code == 403
    assert stack.chat(tenant.alice, NOTE, agent="other").json()["tool_calls"][0]["status"] == "success"
    assert _notes(tenant) == 1
