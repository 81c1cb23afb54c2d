"""`/api/v1/agents/`: owners make, change and archive agents; each change is a version that can be taken back."""

import asyncio
import threading
from typing import Any

import pytest
from django.db import connections

from gateway.budgets import bounds
from gateway.models import Agent, AgentVersion
from gateway.runs.agents import members
from gateway.runs.errors import NoSuchAgent
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.agents.asking import AGENTS, agents, ask, recorded, refusal, versions
from tests.database import rows
from tests.people import Cast, Person

SUPPORT = {"slug": "support", "name": "Support", "instructions": "Be kind.", "tools": ["save_note"]}
DEFAULTS = {
    "is_default": False, "model": None, "max_tier": None, "on_refused_approval": "tell", "on_disconnect": "continue",
    "max_turns": 8, "max_seconds": 120, "max_run_tokens": None, "max_run_usd": None, "tool_seconds": 30,
    "max_result_bytes": 16384,
    "max_offered_tools": None, "pinned_tools": [], "version": 1, "archived": False,
}  # fmt: skip


@pytest.fixture
def support(tenant: Cast) -> str:
    """The path of an agent of the tenant's, `support`."""
    assert ask(tenant.olga, "POST", AGENTS, SUPPORT).status_code == 201
    return f"{AGENTS}support/"


def _profile(person: Person, slug: str | None) -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        try:
            return (await members.under(person.scope, slug)).profile
        finally:
            members.forget(person.scope, slug)
            await transactions.close_pools()

    return asyncio.run(read())


def test_an_owner_makes_an_agent_which_is_its_first_version_and_on_record(tenant: Cast) -> None:
    answer = ask(tenant.olga, "POST", AGENTS, SUPPORT)
    made = answer.json()
    created_at = made.pop("created_at")
    assert (answer.status_code, answer["ETag"], made) == (201, '"1"', SUPPORT | DEFAULTS)
    assert ask(tenant.olga, "GET", f"{AGENTS}support/").json() == made | {"created_at": created_at}
    assert [each["slug"] for each in ask(tenant.olga, "GET", AGENTS).json()["results"]] == ["default", "support"]
    [(target, name, action, said)] = recorded(tenant)
    assert (target, name, action, said["instructions"]) == ("agent", "support", "created", [None, "Be kind."])
    assert versions(tenant, "support") == [(1, tenant.olga.principal.user_id, "api")]
    assert _profile(tenant.alice, "support")["instructions"] == "Be kind."


def test_an_agents_tools_may_name_agents_that_there_are(tenant: Cast, support: str) -> None:
    tools = ["subagent", "default", "..."]
    assert ask(tenant.olga, "PATCH", support, {"tools": tools}).json()["tools"] == tools
    refused = ask(tenant.olga, "PATCH", support, {"tools": ["subagent", "nobody"]})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_agent")
    assert _profile(tenant.alice, "support")["tools"] == tools


def test_only_the_slug_has_to_be_given_and_then_the_tenants_default_tools_are_meant(tenant: Cast) -> None:
    made = ask(tenant.olga, "POST", AGENTS, {"slug": "a"}).json()
    assert (made["name"], made["tools"]) == ("a", ["..."])


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_whoever_is_no_owner_is_told_who_is_asked_and_nothing_happens(tenant: Cast, support: str, who: str) -> None:
    before = (agents(tenant), recorded(tenant))
    for method, path in (
        ("GET", AGENTS), ("POST", AGENTS), ("GET", support), ("PATCH", support), ("DELETE", support),
        ("GET", f"{support}versions/"), ("POST", f"{support}versions/1/restore/"),
    ):  # fmt: skip
        answer = ask(
            getattr(tenant, who), method, path, {"slug": "mine", "max_tier": None} if method != "GET" else None
        )
        assert refusal(answer)[:2] == (403, "forbidden"), (method, path)
        assert "admin" in answer.json()["detail"]
    assert (agents(tenant), recorded(tenant)) == before


def test_another_tenants_agent_is_not_found(tenant: Cast, other_tenant: Cast, support: str) -> None:
    olga = other_tenant.olga
    for method, path in (
        ("GET", support), ("PATCH", support), ("DELETE", support), ("GET", f"{support}versions/"),
        ("POST", f"{support}versions/1/restore/"),
    ):  # fmt: skip
        assert refusal(ask(olga, method, path, {"name": "Mine"} if method == "PATCH" else None))[:2] == (
            404, "unknown_agent",
        )  # fmt: skip
    assert ask(olga, "POST", AGENTS, SUPPORT).status_code == 201
    assert agents(tenant)["support"]["name"] == "Support"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"slug": "A"}, "slug"),
        ({"slug": "a/b"}, "slug"),
        ({"slug": "-"}, "slug"),
        ({"slug": "a" * 51}, "slug"),
        ({"slug": ["a"]}, "slug"),
        ({}, "slug"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": None}, "name"),
        ({"instructions": "a\x00b"}, "instructions"),
        ({"instructions": "x" * 65_537}, "instructions"),
        ({"model": "gpt"}, "model"),
        ({"model": 7}, "model"),
        ({"model": "nobody/knows"}, "model"),
        ({"tools": "some"}, "tools"),
        ({"tools": [1]}, "tools"),
        ({"tools": ["no_such_tool"]}, "tools"),
        ({"tools": ["desk.*"]}, "tools"),
        ({"tools": None}, "tools"),
        ({"pinned_tools": "all"}, "pinned_tools"),
        ({"pinned_tools": ["..."]}, "pinned_tools"),
        ({"is_default": 1}, "is_default"),
        ({"max_tier": "root"}, "max_tier"),
        ({"on_refused_approval": "weep"}, "on_refused_approval"),
        ({"on_disconnect": []}, "on_disconnect"),
        ({"max_turns": 0}, "max_turns"),
        ({"max_turns": True}, "max_turns"),
        ({"max_turns": 1.5}, "max_turns"),
        ({"max_turns": 10**30}, "max_turns"),
        ({"max_seconds": -1}, "max_seconds"),
        ({"tool_seconds": "30"}, "tool_seconds"),
        ({"max_result_bytes": None}, "max_result_bytes"),
        ({"max_offered_tools": -1}, "max_offered_tools"),
        ({"max_run_tokens": 0}, "max_run_tokens"),
        ({"max_run_tokens": bounds.LEAST_TURN - 1}, "max_run_tokens"),
        ({"max_run_tokens": "many"}, "max_run_tokens"),
        ({"max_run_usd": -1}, "max_run_usd"),
        ({"max_run_usd": "0.0000001"}, "max_run_usd"),
        ({"max_run_usd": True}, "max_run_usd"),
        ({"max_run_usd": "NaN"}, "max_run_usd"),
        ({"max_run_usd": ""}, "max_run_usd"),
        ({"max_run_usd": [1]}, "max_run_usd"),
        ({"max_run_usd": 10**12 + 1}, "max_run_usd"),
        ({"colour": "red"}, "colour"),
        ({"version": 3}, "version"),
        ({"id": "x"}, "id"),
    ],
)
def test_what_makes_no_agent_is_refused_by_its_field_and_nothing_is_made(
    tenant: Cast, given: dict[str, Any], field: str
) -> None:
    body = given if "slug" in given or not given else {"slug": "a"} | given
    assert refusal(ask(tenant.olga, "POST", AGENTS, body)) == (400, "invalid_agent", field)
    assert set(agents(tenant)) == {"default"}
    assert recorded(tenant) == []


@pytest.mark.parametrize("body", ["", "[]", "nonsense", '{"slug": "a", "name": "\\ud800"}', "{" * 300])
def test_a_body_that_is_no_object_is_refused(tenant: Cast, body: str) -> None:
    assert ask(tenant.olga, "POST", AGENTS, body).status_code == 400
    assert set(agents(tenant)) == {"default"}


def test_a_slug_is_taken_once_also_by_an_archived_agent(tenant: Cast, support: str) -> None:
    assert refusal(ask(tenant.olga, "POST", AGENTS, SUPPORT)) == (409, "slug_taken", "slug")
    ask(tenant.olga, "DELETE", support)
    answer = ask(tenant.olga, "POST", AGENTS, SUPPORT)
    assert refusal(answer) == (409, "slug_taken", "slug")
    assert "archived" in answer.json()["detail"]


def test_a_change_is_a_new_version_and_what_is_left_out_stays(tenant: Cast, support: str) -> None:
    answer = ask(tenant.olga, "PATCH", support, {"max_turns": 20, "max_tier": "workspace", "version": 1})
    changed = answer.json()
    assert (answer.status_code, answer["ETag"], changed["version"]) == (200, '"2"', 2)
    assert (changed["max_turns"], changed["max_tier"], changed["instructions"]) == (20, "workspace", "Be kind.")
    assert recorded(tenant)[1:] == [
        ("agent", "support", "changed", {"max_turns": [8, 20], "max_tier": ["", "workspace"]})
    ]
    assert _profile(tenant.alice, "support")["version"] == 2


def test_a_change_of_nothing_makes_no_version(tenant: Cast, support: str) -> None:
    answer = ask(tenant.olga, "PATCH", support, {"name": "Support", "max_turns": 8, "max_tier": None})
    assert answer.json()["version"] == 1
    assert len(recorded(tenant)) == len(versions(tenant, "support")) == 1


@pytest.mark.parametrize("by_header", [False, True])
def test_the_second_of_two_who_edit_at_once_is_shown_what_the_first_made_of_it(
    tenant: Cast, support: str, by_header: bool
) -> None:
    barrier, answers = threading.Barrier(2), []

    def edit(name: str) -> None:
        body, headers = {"name": name}, {}
        if by_header:
            headers["If-Match"] = '"1"'
        else:
            body |= {"version": 1}
        barrier.wait()
        answers.append((name, ask(tenant.olga, "PATCH", support, body, **headers)))
        connections.close_all()

    threads = [threading.Thread(target=edit, args=(name,)) for name in ("First", "Second")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    [(won, _)] = [each for each in answers if each[1].status_code == 200]
    [(_, lost)] = [each for each in answers if each[1].status_code != 200]
    assert refusal(lost) == (409, "agent_changed", "version")
    assert (lost.json()["agent"]["name"], lost.json()["agent"]["version"]) == (won, 2)
    assert (agents(tenant)["support"]["name"], len(versions(tenant, "support"))) == (won, 2)


@pytest.mark.parametrize(
    ("body", "header", "field"),
    [
        ({"version": "1"}, "*", "version"),
        ({"version": True}, "*", "version"),
        ({}, "1", "If-Match"),
        ({}, '"x"', "If-Match"),
        ({"version": 2}, '"1"', "version"),
    ],
)
def test_a_version_that_is_none_is_refused(
    tenant: Cast, support: str, body: dict[str, Any], header: str, field: str
) -> None:
    answer = ask(tenant.olga, "PATCH", support, {"name": "Other"} | body, **{"If-Match": header})
    assert refusal(answer) == (400, "invalid_request", field)
    assert agents(tenant)["support"]["name"] == "Support"


def test_an_earlier_version_is_taken_back_as_a_new_one(tenant: Cast, support: str) -> None:
    ask(tenant.olga, "PATCH", support, {"instructions": "Be strict.", "tools": "all"})
    ask(tenant.olga, "PATCH", support, {"max_turns": 3})
    restored = ask(tenant.olga, "POST", f"{support}versions/1/restore/", {"version": 3})
    assert restored.status_code == 200
    fields = ("version", "instructions", "tools", "max_turns")
    assert [restored.json()[name] for name in fields] == [4, "Be kind.", ["save_note"], 8]
    listed = ask(tenant.olga, "GET", f"{support}versions/").json()["results"]
    assert [(each["version"], each["restored"], each["by"]["username"]) for each in listed] == [
        (number, 1 if number == 4 else None, tenant.olga.username) for number in (4, 3, 2, 1)
    ]
    assert listed[1]["changes"] == {"max_turns": [8, 3]}
    assert listed[0]["changes"] == {
        "instructions": ["Be strict.", "Be kind."], "tools": ["all", ["save_note"]], "max_turns": [3, 8],
    }  # fmt: skip
    assert recorded(tenant)[-1][3] == listed[0]["changes"]


def test_lists_of_agents_and_versions_are_read_page_by_page(tenant: Cast, support: str) -> None:
    for turns in (3, 4, 5):
        ask(tenant.olga, "PATCH", support, {"max_turns": turns})
    first = ask(tenant.olga, "GET", f"{support}versions/?limit=3").json()
    assert [each["version"] for each in first["results"]] == [4, 3, 2]
    # The last of a page is compared with the first of the next one.
    assert first["results"][-1]["changes"] == {"max_turns": [8, 3]}
    rest = ask(tenant.olga, "GET", first["next"].removeprefix("http://testserver")).json()
    assert [(each["version"], each["changes"]["max_turns"]) for each in rest["results"]] == [(1, [None, 8])]
    assert rest["next"] is None
    listed = ask(tenant.olga, "GET", f"{AGENTS}?limit=1").json()
    assert [each["slug"] for each in listed["results"]] == ["default"] and listed["next"] is not None
    assert ask(tenant.olga, "GET", f"{support}versions/?cursor=wrong").status_code == 404


def test_a_version_is_taken_back_although_its_tools_are_gone(tenant: Cast, support: str) -> None:
    with on_login("operator"):
        old = Agent.objects.get(tenant_id=tenant.id, slug="support")
        gone = AgentVersion.objects.create(
            tenant_id=tenant.id, agent=old, number=9, values={"tools": ["old.tool"]}, via="toolgate"
        )
    answer = ask(tenant.olga, "POST", f"{support}versions/{gone.number}/restore/")
    assert (answer.status_code, answer.json()["tools"], answer.json()["max_turns"]) == (200, ["old.tool"], 8)


def test_a_version_from_before_a_field_came_is_taken_back_without_it(tenant: Cast, support: str) -> None:
    later = "'{max_run_tokens,max_run_usd}'::text[]"
    older = f"UPDATE agent_versions SET values = values - {later} WHERE tenant_id = %(t)s RETURNING id"
    assert rows(older, t=tenant.id)
    ask(tenant.olga, "PATCH", support, {"max_run_tokens": 5_000, "max_run_usd": "0.5"})
    taken = ask(tenant.olga, "POST", f"{support}versions/1/restore/", {"version": 2}).json()
    assert (taken["version"], taken["max_run_tokens"], taken["max_run_usd"]) == (3, None, None)
    assert recorded(tenant)[-1][3] == {"max_run_tokens": [5_000, None], "max_run_usd": ["0.5", None]}


@pytest.mark.parametrize("said", ["0.50", 0.5, "5e-1"])
def test_a_limit_of_money_is_exact_and_the_same_amount_makes_no_new_version(
    tenant: Cast, support: str, said: Any
) -> None:
    changed = ask(tenant.olga, "PATCH", support, {"max_run_usd": said}).json()
    assert (changed["version"], changed["max_run_usd"]) == (2, "0.5")
    assert ask(tenant.olga, "PATCH", support, {"max_run_usd": "0.500"}).json()["version"] == 2
    assert ask(tenant.olga, "POST", f"{support}versions/2/restore/").json()["version"] == 2
    assert recorded(tenant)[-1][3] == {"max_run_usd": [None, "0.5"]}
    assert _profile(tenant.alice, "support")["max_run_usd"] == "0.5"
    assert ask(tenant.olga, "PATCH", support, {"max_run_usd": None}).json()["max_run_usd"] is None
    # A trillion is the most.
    assert ask(tenant.olga, "PATCH", support, {"max_run_usd": 10**12}).json()["max_run_usd"] == "1000000000000"


def test_a_limit_of_tokens_that_is_too_low_today_stays_until_it_is_changed(tenant: Cast, support: str) -> None:
    before = "UPDATE agents SET max_run_tokens = 1000 WHERE tenant_id = %(t)s AND slug = 'support' RETURNING id"
    assert rows(before, t=tenant.id)
    changed = ask(tenant.olga, "PATCH", support, {"max_run_tokens": 1_000, "max_turns": 3}).json()
    assert (changed["max_run_tokens"], changed["max_turns"]) == (1_000, 3)
    refused = ask(tenant.olga, "PATCH", support, {"max_run_tokens": 1_001})
    assert refusal(refused) == (400, "invalid_agent", "max_run_tokens")
    assert agents(tenant)["support"]["max_run_tokens"] == 1_000


@pytest.mark.parametrize("number", [0, 2, 2**31, 10**30])
def test_a_version_that_there_is_not_is_not_found(tenant: Cast, support: str, number: int) -> None:
    assert refusal(ask(tenant.olga, "POST", f"{support}versions/{number}/restore/")) == (404, "not_found", "version")
    assert len(versions(tenant, "support")) == 1


def test_taking_back_what_somebody_changed_meanwhile_is_refused(tenant: Cast, support: str) -> None:
    ask(tenant.olga, "PATCH", support, {"max_turns": 3})
    answer = ask(tenant.olga, "POST", f"{support}versions/1/restore/", {"version": 1})
    assert refusal(answer) == (409, "agent_changed", "version")
    assert agents(tenant)["support"]["max_turns"] == 3


def test_another_agent_becomes_the_default_one_which_is_a_version_of_both(tenant: Cast, support: str) -> None:
    assert ask(tenant.olga, "PATCH", support, {"is_default": True}).json()["is_default"] is True
    assert {slug: row["is_default"] for slug, row in agents(tenant).items()} == {"default": False, "support": True}
    changed = [(name, said) for _, name, action, said in recorded(tenant) if action == "changed"]
    assert changed == [("default", {"is_default": [True, False]}), ("support", {"is_default": [False, True]})]
    assert _profile(tenant.alice, None)["slug"] == "support"


def test_the_default_agent_neither_stops_being_it_nor_is_archived(tenant: Cast) -> None:
    path = f"{AGENTS}default/"
    refused = [
        ask(tenant.olga, "PATCH", path, {"is_default": False}),
        ask(tenant.olga, "PATCH", path, {"archived": True}),
        ask(tenant.olga, "DELETE", path),
    ]
    assert {refusal(each) for each in refused} == {(409, "default_agent", None)}
    row = agents(tenant)["default"]
    assert (row["is_default"], row["archived_at"], row["version"], recorded(tenant)) == (True, None, 1, [])


def test_nothing_begins_with_an_archived_agent_until_it_is_taken_back(tenant: Cast, support: str) -> None:
    assert ask(tenant.olga, "DELETE", support).status_code == 204
    with pytest.raises(NoSuchAgent):
        _profile(tenant.alice, "support")
    assert refusal(ask(tenant.alice, "GET", "/api/v1/tools/?agent=support"))[:2] == (404, "unknown_agent")
    listed = [ask(tenant.olga, "GET", f"{AGENTS}?archived={each}").json()["results"] for each in ("false", "true")]
    assert [[each["slug"] for each in some] for some in listed] == [["default"], ["support"]]
    assert ask(tenant.olga, "GET", support).json()["archived"] is True
    assert refusal(ask(tenant.olga, "PATCH", support, {"is_default": True})) == (400, "invalid_agent", "is_default")
    assert ask(tenant.olga, "PATCH", support, {"archived": False}).json()["archived"] is False
    assert _profile(tenant.alice, "support")["slug"] == "support"
    assert [said.get("archived") for _, _, _, said in recorded(tenant)] == [[None, False], [False, True], [True, False]]


def test_tools_that_went_away_stay_in_the_list_but_new_ones_must_exist(tenant: Cast, support: str) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id, slug="support").update(tools=["old.tool", "save_note"])
    kept = ask(tenant.olga, "PATCH", support, {"tools": ["old.tool", "add_task"]})
    assert (kept.status_code, kept.json()["tools"]) == (200, ["old.tool", "add_task"])
    assert refusal(ask(tenant.olga, "PATCH", support, {"tools": ["old.tool", "older.tool"]})) == (
        400, "invalid_agent", "tools",
    )  # fmt: skip
