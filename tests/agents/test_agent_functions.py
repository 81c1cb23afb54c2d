"""Agents that other agents list: offered as functions of their own, whose calls are calls of subagent."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from gateway.runs.agents import fields
from gateway.runs.agents import members as known_members
from tests.agents.asking import ask
from tests.gateway.runs.children.family import ended, tree
from tests.gateway.runs.children.test_starting import agent_of
from tests.people import Cast, Person
from tools.offering import offer


async def _functions(person: Person, agent: str) -> dict[str, Any]:
    member = await known_members.under(person.scope, agent)
    shown = offer.of_agent(member.rights.policy, member.profile).tools
    return {tool.name: tool for tool in shown if tool.name.startswith("ask_")}


def _ask(slug: str, **arguments: Any) -> str:
    return f"call: ask_{slug} {json.dumps(arguments)}"


async def test_an_agent_that_another_one_lists_is_offered_as_a_function_of_its_own(tenant: Cast) -> None:
    await agent_of(tenant, "travel", tools="all")
    await agent_of(tenant, "small", tools=["subagent", "travel", "list_tasks"])
    await agent_of(tenant, "alone", tools=["travel", "list_tasks"])
    functions = await _functions(tenant.alice, "small")
    assert list(functions) == ["ask_travel"]
    assert "the agent travel" in functions["ask_travel"].description
    assert sorted(functions["ask_travel"].parameters["properties"]) == ["context", "output_schema", "task"]
    # Without subagent it may give nobody a task, and one that may use all tools is not shown every agent.
    assert await _functions(tenant.alice, "alone") == await _functions(tenant.alice, "travel") == {}


async def test_a_call_of_an_agents_function_is_one_of_subagent_with_that_agent(tenant: Cast) -> None:
    await agent_of(tenant, "travel", tools=["list_tasks"])
    await agent_of(tenant, "small", tools=["subagent", "travel"])
    answer = await ended(
        tenant.alice, _ask("travel", task="Hello."), _ask("travel", task="Hello.", agent="small"), agent="small"
    )
    said = [(call["tool"], call["input"], call["status"]) for call in answer["tool_calls"]]
    assert said == [("subagent", {"task": "Hello.", "agent": "travel"}, "success")] * 2
    assert [run["profile"]["slug"] for run in tree(tenant.alice)] == ["small", "travel", "travel"]


async def test_an_agent_that_is_not_listed_has_no_function_and_what_is_said_of_subagent_holds_for_one(
    tenant: Cast,
) -> None:
    await agent_of(tenant, "travel", tools="all")
    await agent_of(tenant, "other", tools="all")
    await agent_of(tenant, "small", tools=["subagent", "travel"])
    calls = [_ask("other", task="Hello."), _ask("travel", task="", nonsense=1), "call: ask_travel {not json"]
    answer = await ended(tenant.alice, *calls, agent="small")
    assert [(call["tool"], call["error"]["code"]) for call in answer["tool_calls"]] == [
        ("ask_other", "not_allowed"),
        ("subagent", "validation_error"),
        ("subagent", "validation_error"),
    ]
    assert len(tree(tenant.alice)) == 1


async def test_a_child_is_offered_only_agents_that_every_run_above_it_lists(tenant: Cast) -> None:
    await agent_of(tenant, "low", tools="all")
    await agent_of(tenant, "travel", tools=["subagent", "low", "travel"])
    await agent_of(tenant, "small", tools=["subagent", "travel"])
    task = "\n".join([_ask("low", task="Hello."), _ask("travel", task="Hello.")])
    await ended(tenant.alice, _ask("travel", task=task), agent="small")
    parent, child, grandchild = tree(tenant.alice)
    assert (parent["profile"]["agents"], child["profile"]["agents"]) == ({"travel": "travel"}, {"travel": "travel"})
    assert grandchild["profile"]["slug"] == "travel"


async def test_loops_of_agents_end_with_the_depth_of_the_tree(tenant: Cast) -> None:
    await agent_of(tenant, "small", tools=["subagent", "small"])
    task = "Hello."
    for _ in range(5):
        task = _ask("small", task=task)
    await ended(tenant.alice, task, agent="small")
    assert [run["depth"] for run in tree(tenant.alice)] == [0, 1, 2, 3]


def test_a_list_in_which_an_agents_function_would_be_a_tool_is_refused(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    async_to_sync(agent_of)(tenant, "note", tools="all")
    monkeypatch.setattr(fields, "FUNCTION", "save_")
    refused = ask(tenant.olga, "POST", "/api/v1/agents/", {"slug": "small", "tools": ["subagent", "note"]})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_agent")
    assert "save_note, which is a tool's name" in refused.json()["detail"]
