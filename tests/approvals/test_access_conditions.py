"""Access conditions: by hour, agent, way in and alert level, at each call and in each list."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from approvals.errors import InvalidRule, NoSuchRule
from approvals.requests import callers_rights
from approvals.requests.callers_rights import NO_AGENT
from approvals.rules import access_conditions
from approvals.rules.access_conditions import Condition
from tenants.people.changes import acting
from tenants.scope import transactions
from tests.database import rows
from tests.fuzz.caller import Answer, ask
from tests.people import Cast, Person
from tools.gates import policy
from tools.gates.checks.condition import Conditions
from tools.gates.checks.context import at, looks_at_arguments
from tools.gates.interface import Caller, Candidate, GateContext, GateResult
from tools.interface import Tier
from tools.invocation import evaluation
from tools.registry import registry

NOTE = '{"title": "Milk", "content": "Two litres"}'
MONDAY = datetime(2027, 1, 4, 7, 30, tzinfo=UTC)


def _of(**facts: Any) -> dict[str, Any]:
    """A condition on facts of the context."""
    return {
        "properties": {"context": {"properties": facts, "required": sorted(facts)}},
        "required": ["context"],
    }


OFFICE_HOURS = _of(hour={"minimum": 8, "exclusiveMaximum": 18}, weekday={"not": {"enum": ["saturday", "sunday"]}})


def _condition(condition: dict[str, Any], **more: Any) -> Condition:
    values: dict[str, Any] = {
        "id": "c-1",
        "name": "Office hours",
        "tool_name": "save_note",
        "agent": "",
        "time_zone": "UTC",
        "version": 3,
    }
    return Condition(condition=condition, **{**values, **more})


def _answer(*conditions: Condition, now: datetime = MONDAY, arguments: Any = None, **more: Any) -> GateResult:
    caller = Caller(uuid.uuid4(), uuid.uuid4(), more.pop("agent", ""), more.pop("origin", "chat"))
    known = replace(policy.from_row(None, None), role="member", ceiling=Tier.ELEVATED, conditions=conditions, **more)
    candidate = Candidate("save_note", registry().get("save_note"), arguments)
    return Conditions().check(candidate, GateContext(known, caller, now=now))


@pytest.mark.parametrize(
    ("time_zone", "hour", "ok"),
    [("UTC", 7, False), ("Europe/Berlin", 7, True), ("UTC", 17, True), ("Europe/Berlin", 17, False)],
)
def test_hours_are_those_of_the_conditions_time_zone(time_zone: str, hour: int, ok: bool) -> None:
    answer = _answer(_condition(OFFICE_HOURS, time_zone=time_zone), now=MONDAY.replace(hour=hour))
    assert answer.ok is ok
    assert answer.facts["context"]["hour"] == hour + (time_zone != "UTC")
    assert answer.facts["conditions"] == {"c-1": 3}


def test_a_refusal_names_the_condition_and_who_can_change_it() -> None:
    answer = _answer(_condition(OFFICE_HOURS))
    assert (answer.code, answer.rule) == ("policy_denied", "c-1")
    assert "“Office hours”" in answer.model and "An owner can change conditions" in answer.user


@pytest.mark.parametrize(
    ("condition", "given", "ok"),
    [
        (_of(origin={"enum": ["chat", "mcp"]}), {"origin": "api"}, False),
        (_of(origin={"enum": ["chat", "mcp"]}), {"origin": "mcp"}, True),
        (_of(agent={"const": "night"}), {"agent": "night"}, True),
        (_of(agent={"const": "night"}), {}, False),
        (_of(alert_level={"maximum": 1}), {"alert_level": 1}, True),
        (_of(alert_level={"maximum": 1}), {"alert_level": 2}, False),
        (_of(role={"const": "owner"}), {}, False),
    ],
)
def test_each_fact_decides(condition: dict[str, Any], given: dict[str, Any], ok: bool) -> None:
    assert _answer(_condition(condition), **given).ok is ok


def test_every_condition_that_is_about_the_call_has_to_be_met() -> None:
    met, unmet = _condition(_of(role={"const": "member"})), _condition(_of(role={"const": "owner"}), id="c-2")
    assert _answer(met).ok
    assert _answer(met, unmet).rule == "c-2"
    assert _answer(met, replace(unmet, tool_name="add_task")).ok
    assert _answer(met, replace(unmet, agent="night")).ok
    assert not _answer(met, replace(unmet, tool_name="*")).ok


def test_what_cannot_be_decided_is_refused() -> None:
    slow = {"properties": {"args": {"properties": {"title": {"pattern": "^(?=a)(a*)*$"}}}}}
    assert not _answer(_condition(slow), arguments={"title": "a" * 5000}).ok
    assert not _answer(_condition(_of(role={}), time_zone="Nowhere/None")).ok
    # A fact that is not there, also under not and anyOf.
    assert not _answer(_condition(_of(taint={"const": False}))).ok


def test_a_condition_on_arguments_decides_calls_and_hides_nothing_in_lists() -> None:
    short = {
        "properties": {"args": {"properties": {"title": {"maxLength": 3}}, "required": ["title"]}},
        "required": ["args"],
    }
    assert _answer(_condition(short), arguments={"title": "abc"}).ok
    assert not _answer(_condition(short), arguments={"title": "abcd"}).ok
    listed = _answer(_condition(short))
    assert listed.ok and "by its arguments" in listed.log


@pytest.mark.parametrize(
    "condition",
    [{"not": {"required": ["args"]}}, {"allOf": [{"properties": {"args": {}}}]}, {"minProperties": 2},
     {"patternProperties": {"^a": False}}, {"additionalProperties": False}, {"propertyNames": {"const": "context"}}],
)  # fmt: skip
def test_what_may_mean_the_arguments_is_taken_to(condition: dict[str, Any]) -> None:
    assert looks_at_arguments(condition)
    assert not looks_at_arguments(OFFICE_HOURS)


def test_a_moment_has_its_local_date() -> None:
    assert at(datetime(2027, 1, 3, 23, 30, tzinfo=UTC), "Europe/Berlin") == {
        "date": "2027-01-04", "hour": 0, "minute": 30, "weekday": "monday", "time_zone": "Europe/Berlin",
    }  # fmt: skip


# --- through the API -------------------------------------------------------------------------------------------------
async def _asked(person: Person, method: str, url: str, body: object = None) -> Answer:
    headers = {"authorization": f"Bearer {person.key}".encode(), "content-type": b"application/json"}
    return await ask(method, url, headers, b"" if body is None else json.dumps(body).encode())


@contextmanager
def _as(person: Person) -> Iterator[None]:
    with transactions.scope(*person.scope), acting(person.scope.user_id, "api"):
        yield


def _given(**more: Any) -> dict[str, Any]:
    return {"name": "All is well", "tool": "save_note", "condition": _of(alert_level={"maximum": 0})} | more


PATH, ALERT = "/api/v1/access-conditions/", "/api/v1/alert-level/"


async def test_an_owner_makes_a_condition_that_closes_a_tool_while_there_is_an_alert(tenant: Cast) -> None:
    made = await _asked(tenant.olga, "POST", PATH, _given())
    assert made.status == 201, made.body
    assert made.json()["version"] == 1
    chat = {"content": f"call: save_note {NOTE}"}
    well = (await _asked(tenant.alice, "GET", "/api/v1/tools/save_note/access")).json()
    assert well["allowed"] is True
    [asked] = [answer for answer in well["gates"] if answer["gate"] == "condition"]
    assert asked["facts"]["context"]["alert_level"] == 0
    alert = await _asked(tenant.olga, "PUT", ALERT, {"level": 2, "reason": "A stolen laptop"})
    assert (alert.status, alert.json()["level"]) == (200, 2)
    refused = (await _asked(tenant.alice, "POST", "/api/v1/chat", chat)).json()
    assert [call["error"]["code"] for call in refused["tool_calls"]] == ["policy_denied"]
    listed = (await _asked(tenant.alice, "GET", "/api/v1/tools/")).json()["tools"]
    assert "save_note" not in {tool["name"] for tool in listed}
    access = (await _asked(tenant.alice, "GET", "/api/v1/tools/save_note/access")).json()
    assert access["allowed"] is False
    [row] = rows("SELECT decision FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    facts = row["decision"][-1]["facts"]
    assert (facts["context"]["alert_level"], facts["context"]["origin"]) == (2, "chat")
    assert facts["conditions"] == {made.json()["id"]: 1}
    changed = rows("SELECT target, action FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [(each["target"], each["action"]) for each in changed] == [
        ("access_condition", "created"), ("alert_level", "created"),
    ]  # fmt: skip


async def test_a_tenant_without_conditions_has_no_such_gate_in_its_decisions(tenant: Cast, other_tenant: Cast) -> None:
    await _asked(other_tenant.olga, "POST", PATH, _given())
    await _asked(other_tenant.olga, "PUT", ALERT, {"level": 3})
    access = (await _asked(tenant.alice, "GET", "/api/v1/tools/save_note/access")).json()
    assert access["allowed"] is True
    assert "condition" not in {answer["gate"] for answer in access["gates"]}


async def test_only_owners_change_conditions_and_the_alert_level(tenant: Cast, other_tenant: Cast) -> None:
    made = (await _asked(tenant.olga, "POST", PATH, _given())).json()
    one = f"{PATH}{made['id']}/"
    for person in (tenant.alice, tenant.carol, tenant.dana):
        for method, url, body in (
            ("POST", PATH, _given()), ("PATCH", one, {"enabled": False}), ("DELETE", one, None),
            ("PUT", ALERT, {"level": 1}),
        ):  # fmt: skip
            assert (await _asked(person, method, url, body)).status == 403
    assert (await _asked(other_tenant.olga, "PATCH", one, {"enabled": False})).status == 404
    assert (await _asked(tenant.dana, "GET", PATH)).json()["results"][0]["enabled"] is True
    changed = (await _asked(tenant.olga, "PATCH", one, {"enabled": False})).json()
    assert (changed["enabled"], changed["version"]) == (False, 2)
    assert (await _asked(tenant.olga, "DELETE", one)).status == 204
    assert (await _asked(tenant.olga, "GET", PATH)).json()["results"] == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"condition": {}}, "condition"),
        ({"condition": _of(taint={"const": True})}, "condition"),
        ({"condition": {"properties": {"context": {"properties": {"hour": {"maximum": 3}}}}}}, "condition"),
        ({"condition": {"properties": {"args": {"required": ["nothing"]}}, "required": ["args"]}}, "condition"),
        ({"tool": "no_such"}, "tool"),
        ({"tool": "tools_call"}, "tool"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"agent": "nobody"}, "agent"),
        ({"name": ""}, "name"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(tenant: Cast, given: dict[str, Any], field: str) -> None:
    with _as(tenant.olga), pytest.raises(InvalidRule) as refused:
        access_conditions.add(tenant.id, _given(**given))
    assert refused.value.field == field
    assert rows("SELECT 1 AS it FROM access_conditions WHERE tenant_id = %(t)s", t=tenant.id) == []


async def test_rights_that_were_read_before_a_change_do_not_decide_after_it(tenant: Cast) -> None:
    scope = tenant.alice.scope
    async with transactions.transaction(scope) as connection:
        before = await callers_rights.load(connection, scope.user_id, NO_AGENT)
    await _asked(tenant.olga, "POST", PATH, _given())
    async with transactions.transaction(scope) as connection:
        after = await callers_rights.load(connection, scope.user_id, NO_AGENT)
    assert before.version != after.version
    assert [each.name for each in after.policy.conditions] == ["All is well"]
    assert "save_note" in {tool.name for tool in evaluation.offered(after.policy)}


def test_what_is_not_there_cannot_be_changed(tenant: Cast) -> None:
    with _as(tenant.olga), pytest.raises(NoSuchRule):
        access_conditions.change(tenant.id, uuid.uuid4(), {"enabled": False})


def _call() -> tuple[str, str, object]:
    return "POST", "/api/v1/tools/save_note/calls", {"arguments": json.loads(NOTE), "wait": 0}


async def test_a_dry_run_says_what_a_condition_would_have_refused_and_saves_nothing(
    tenant: Cast, other_tenant: Cast
) -> None:
    for person in (tenant.alice, tenant.bob, other_tenant.alice):
        # A worker of other tests may run it.
        assert (await _asked(person, *_call())).status in (200, 202)
    names = {tenant.alice.username: 1, tenant.bob.username: 1}
    for given, refused in (
        (_given(condition=_of(origin={"const": "chat"})), names),
        (_given(condition=_of(origin={"enum": ["api", "chat"]})), {}),
        (_given(condition=_of(tier={"const": "read_only"}), tool="*"), names),
        (_given(condition=_of(origin={"const": "chat"}), agent="default"), {}),
        (_given(condition=_of(origin={"const": "chat"}), tool="web_search"), {}),
    ):
        found = await _asked(tenant.olga, "POST", f"{PATH}dry-run/", given)
        assert found.status == 200, found.body
        body = found.json()
        assert {each["username"]: each["calls"] for each in body["by_user"]} == refused
        assert (body["would_have_refused"], body["undecided"]) == (sum(refused.values()), 0)
        assert (body["examined"], body["complete"]) == (2, True)
        assert len(body["examples"]) == sum(refused.values())
    assert (await _asked(tenant.olga, "GET", PATH)).json()["results"] == []
    assert (await _asked(tenant.alice, "POST", f"{PATH}dry-run/", _given())).status == 403
    assert (await _asked(tenant.olga, "POST", f"{PATH}dry-run/", _given(condition={}))).status == 400


async def test_a_dry_run_does_not_guess_an_alert_level_that_nobody_recorded(tenant: Cast) -> None:
    await _asked(tenant.alice, *_call())
    quiet = _given(condition=_of(alert_level={"maximum": 0}))
    unknown = (await _asked(tenant.olga, "POST", f"{PATH}dry-run/", quiet)).json()
    assert (unknown["concerns"], unknown["undecided"], unknown["would_have_refused"]) == (1, 1, 0)
    # From now on it is recorded with each decision.
    await _asked(tenant.olga, "POST", PATH, _given(condition=_of(alert_level={"maximum": 2})))
    await _asked(tenant.olga, "PUT", ALERT, {"level": 2})
    await _asked(tenant.alice, *_call())
    known = (await _asked(tenant.olga, "POST", f"{PATH}dry-run/", quiet)).json()
    assert (known["concerns"], known["undecided"], known["would_have_refused"]) == (2, 1, 1)
