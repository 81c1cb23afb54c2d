"""Calls that begin runs, and wait for them."""

import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from audit.models import Origin
from gateway.models import Agent
from gateway.runs.lifecycle import driving
from tenants.scope.routing import on_login
from tenants.scope.transactions import TenantScope
from tests.database import rows
from tests.gateway.runs.children.family import MAIL, ended, subagent, tree
from tests.people import Cast
from tests.waiting import eventually
from tools.invocation import invoke


@sync_to_async
def agent_of(cast: Cast, slug: str, **fields: Any) -> None:
    """An agent of the tenant's."""
    with on_login("operator"):
        Agent.objects.create(tenant_id=cast.id, slug=slug, name=slug, **fields)


def _ids(runs: list[dict[str, Any]]) -> list[Any]:
    return [run["id"] for run in runs]


async def test_a_call_of_subagent_answers_with_what_its_run_said(tenant: Cast) -> None:
    answer = await ended(tenant.alice, subagent("Say hello."))
    assert answer["status"] == "completed", answer
    [call] = answer["tool_calls"]
    parent, child = tree(tenant.alice)
    assert (call["status"], call["error"]) == ("success", None)
    assert call["output"] == {
        "content": call["output"]["content"],
        "run_id": str(child["id"]),
        "status": "completed",
        "incomplete_reason": None,
    }
    assert call["output"]["content"]
    assert (child["parent_run_id"], child["root_run_id"], child["depth"]) == (parent["id"], parent["id"], 1)
    assert (str(child["parent_call_id"]), child["kind"]) == (call["id"], "worker")
    assert child["conversation_id"] != parent["conversation_id"]


async def test_children_of_one_turn_run_side_by_side_and_their_parent_holds_nothing_meanwhile(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_over = driving.take_over

    async def once_parked(scope: TenantScope, run_id: uuid.UUID) -> None:
        """A child that is over before its parent has let go leaves it nothing to wait for."""
        await eventually(lambda: tree(tenant.alice)[0]["status"] != "in_progress")
        await take_over(scope, run_id)

    monkeypatch.setattr(driving, "take_over", once_parked)
    answer = await ended(tenant.alice, subagent("One.", context="The first."), subagent("Two."))
    assert [call["status"] for call in answer["tool_calls"]] == ["success", "success"]
    parent, *children = tree(tenant.alice)
    assert {str(child["id"]) for child in children} == {call["output"]["run_id"] for call in answer["tool_calls"]}
    said = rows("SELECT content FROM messages WHERE role = 'user' AND run_id = ANY(%(ids)s)", ids=_ids(children))
    assert sorted(row["content"] for row in said) == ["One.\n\nContext:\nThe first.", "Two."]
    # It was parked: a driver after the first one has gone on with it.
    assert (parent["fence"] > 1, parent["open_calls"], parent["lease_until"]) == (True, None, None)


async def test_runs_begin_others_three_levels_deep_and_no_deeper(tenant: Cast) -> None:
    task = subagent("Too deep.")
    for _ in range(3):
        task = subagent(task)
    answer = await ended(tenant.alice, task)
    assert answer["status"] == "completed"
    runs = tree(tenant.alice)
    assert [run["depth"] for run in runs] == [0, 1, 2, 3]
    assert {run["root_run_id"] for run in runs[1:]} == {runs[0]["id"]}
    [refused] = rows("SELECT * FROM tool_calls WHERE run_id = %(r)s", r=runs[3]["id"])
    assert (refused["status"], refused["error_code"], refused["waits_on_run"]) == ("error", "permission_denied", None)
    assert "TOOLGATE_MAX_CHILD_DEPTH" in refused["error_message"]


async def test_a_run_begins_eight_others_and_no_more(tenant: Cast) -> None:
    answer = await ended(tenant.alice, *[subagent(f"Number {n}.") for n in range(9)])
    assert sorted(call["status"] for call in answer["tool_calls"]) == ["error"] + 8 * ["success"]
    [refused] = [call for call in answer["tool_calls"] if call["status"] == "error"]
    assert refused["error"]["code"] == "permission_denied"
    assert "TOOLGATE_MAX_CHILDREN" in refused["error"]["message"]
    assert len(tree(tenant.alice)) == 9


async def test_a_child_has_no_more_turns_and_seconds_than_its_parent_has_left(tenant: Cast) -> None:
    await ended(tenant.alice, subagent(subagent("Hello.")))
    parent, child, grandchild = tree(tenant.alice)
    turns = [run["profile"]["max_turns"] for run in (parent, child, grandchild)]
    assert turns == [8, 6, 4]
    seconds = [run["profile"]["max_seconds"] for run in (parent, child, grandchild)]
    assert seconds[0] > seconds[1] > seconds[2] > 0


async def test_a_child_that_has_spent_its_turns_answers_with_what_it_has(tenant: Cast) -> None:
    # Seven turns are left to the parent when it begins the child, which may have six of them.
    task = "\nthen:\n".join('call: list_tasks {"status": "nonsense"}' for _ in range(7))
    answer = await ended(tenant.alice, subagent(task))
    [call] = answer["tool_calls"]
    assert (call["status"], call["output"]["status"]) == ("success", "incomplete")
    assert call["output"]["incomplete_reason"] == "max_turns"
    assert answer["status"] == "completed"


async def test_the_end_of_a_child_is_a_ledger_entry_of_the_call_that_waited(tenant: Cast) -> None:
    answer = await ended(tenant.alice, subagent("Say hello."))
    kinds = rows("SELECT kind FROM ledger_entries WHERE call_id = %(c)s ORDER BY seq", c=answer["tool_calls"][0]["id"])
    assert [row["kind"] for row in kinds] == ["proposed", "settled"]


async def test_an_agent_that_is_not_among_the_tools_of_the_parents_agent_begins_nothing(tenant: Cast) -> None:
    await agent_of(tenant, "small", tools=["subagent", "other"])
    await agent_of(tenant, "other", tools="all")
    await agent_of(tenant, "third", tools="all")
    answer = await ended(
        tenant.alice, subagent("Hello.", agent="third"), subagent("Hello.", agent="other"), agent="small"
    )
    first, second = answer["tool_calls"]
    assert (first["error"]["code"], second["status"]) == ("permission_denied", "success")
    assert "/settings/agents/" in first["error"]["message"]
    _, child = tree(tenant.alice)
    assert child["profile"]["slug"] == "other"


async def test_a_child_may_not_use_what_its_parents_agent_may_not(tenant: Cast) -> None:
    await agent_of(tenant, "small", tools=["subagent", "other"], max_tier="workspace")
    await agent_of(tenant, "other", tools="all")
    note = 'call: save_note {"title": "a", "content": "b"}'
    await ended(tenant.alice, subagent(f"{note}\n{MAIL}", agent="other"), agent="small")
    _, child = tree(tenant.alice)
    refused = rows("SELECT error_code FROM tool_calls WHERE run_id = %(r)s", r=child["id"])
    assert [row["error_code"] for row in refused] == ["not_allowed", "not_allowed"]
    assert child["profile"]["max_tier"] == "workspace"


async def test_a_call_without_a_run_begins_none(tenant: Cast) -> None:
    call = await invoke.invoke(tenant.alice.scope, "subagent", {"task": "Hello."}, origin=Origin.API)
    assert (call.status, call.error_code) == ("error", "permission_denied")
    assert tree(tenant.alice) == []
