"""What a model is shown of many tools, how others are found, and whose a call through tools_call is."""

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.test import override_settings

from tools.gates import order, policy
from tools.gates.interface import Caller, Rights
from tools.gates.policy import Policy, Setting
from tools.interface import Tier, Tool
from tools.invocation import evaluation, naming
from tools.invocation.evaluation import Suggestion
from tools.offering import offer, searching

FINDERS = ["tools_call", "tools_search"]


def _tool(name: str, description: str = "What it does.", **more: Any) -> Tool:
    made = Tool()
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False}
    said = {"name": name, "description": description, "parameters": schema, "tier": Tier.READ_ONLY}
    vars(made).update(said | more)
    return made


def _policy(tools: Iterable[Tool], **more: Any) -> Policy:
    member = policy.from_row(None, None)
    given = {"role": "member", "ceiling": Tier.ELEVATED, "service_tools": {tool.name: tool for tool in tools}} | more
    return replace(member, **given)


def _names(offered: offer.Offer) -> list[str]:
    return [tool.name for tool in offered.tools]


async def _evaluated(known: Policy, arguments: str, name: str = "tools_call") -> Any:
    [call] = await evaluation.evaluate(
        [Suggestion(name, arguments)],
        Rights(known, ()),
        Caller(uuid.uuid4(), uuid.uuid4(), charge=False),
        earlier_failures={},
        most_seconds=30,
        gates=order.new_call(),
    )
    return call


MANY = [_tool(f"desk.tool_{number:03}") for number in range(60)]


def test_at_the_number_each_tool_is_offered_and_above_it_the_finders_and_those_that_are_pinned() -> None:
    known = _policy(MANY)
    everything = len(evaluation.offered(known))
    assert not offer.of_agent(known, {"max_offered_tools": everything}).searches
    above = offer.of_agent(known, {"max_offered_tools": everything - 1, "pinned_tools": ["desk.tool_007", "no.such"]})
    assert (_names(above), above.searches) == ([*FINDERS, "desk.tool_007"], True)


def test_what_is_offered_is_found_once_for_a_policy_and_again_when_the_operator_says_otherwise() -> None:
    known = _policy(MANY, ceiling=Tier.SYSTEM)
    found = evaluation.offered(known)
    assert "save_note" in [tool.name for tool in found]
    assert evaluation.offered(known) is found
    with override_settings(TOOLGATE_TOOL_TIERS={"save_note": "elevated"}):
        assert [tool.name for tool in found if tool not in evaluation.offered(known)] == ["save_note"]
    assert evaluation.offered(known) == found
    assert evaluation.offered(replace(known, settings={"save_note": Setting(enabled=False)})) != found
    assert evaluation.offered(known, origin="mcp") != found


def test_where_the_tenant_has_conditions_each_moment_has_its_own_offer() -> None:
    @dataclass
    class Open:
        condition: Any
        id: str = "1"
        name: str = "hours"
        time_zone: str = "UTC"
        version: int = 1

        def concerns(self, tool_name: str, agent: str) -> bool:
            return tool_name == "save_note"

    hours = Open(condition={})
    known = _policy((), conditions=(hours,))
    found = evaluation.offered(known)
    hours.condition = {"not": {}}
    assert [tool.name for tool in found if tool not in evaluation.offered(known)] == ["save_note"]


def test_pinned_tools_are_offered_as_far_as_number_and_size_allow() -> None:
    pinned = {"max_offered_tools": 10, "pinned_tools": ["desk.*"]}
    assert _names(offer.of_agent(_policy(MANY), pinned)) == [*FINDERS, *(tool.name for tool in MANY[:8])]
    large = [_tool(f"desk.tool_{number:03}", "x" * 3_000) for number in range(60)]
    assert _names(offer.of_agent(_policy(large), pinned)) == [*FINDERS, "desk.tool_000", "desk.tool_001"]


def test_a_pinned_tool_that_may_not_be_called_is_not_offered() -> None:
    known = _policy(MANY, grants=(("desk.tool_001", "deny"),))
    assert _names(offer.of_agent(known, {"pinned_tools": ["desk.tool_001", "desk.tool_002"]})) == [
        *FINDERS, "desk.tool_002",
    ]  # fmt: skip


def test_a_tenant_may_switch_the_finders_off() -> None:
    known = _policy(MANY, settings={"tools_search": Setting(enabled=False)})
    offered = offer.of_agent(known, {})
    assert (_names(offered), offered.searches) == (["tools_call"], False)


def test_a_search_finds_by_name_description_and_exact_name_the_best_first() -> None:
    tools = [
        _tool("crm.list_invoices", "Every bill of a customer."),
        _tool("crm.send_mail", "Sends invoices as attachments."),
        _tool("crm.archive", "Puts things away."),
    ]
    known = _policy(tools)
    found = searching.search(tools, known, "Invoices", 5)
    assert [each["name"] for each in found["tools"]] == ["crm.list_invoices", "crm.send_mail"]
    assert found["tools"][0]["parameters"] == tools[0].parameters
    assert searching.search(tools, known, "crm__archive", 5)["tools"][0]["name"] == "crm.archive"
    assert searching.search(tools, known, "zebra of a kind", 5)["tools"] == []
    assert searching.search(tools, known, "crm", 2)["more"] == 1


def test_an_answer_of_a_search_stays_short_enough_to_be_told_whole() -> None:
    schema = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(200)}}
    tools = [_tool(f"crm.tool_{number}", "word " * 200, parameters=schema) for number in range(20)]
    found = searching.search(tools, _policy(tools), "word", 20)
    assert len(found["tools"]) == 20 and "parameters" in found["tools"][0] and "parameters" not in found["tools"][19]
    assert len(json.dumps(found)) < 16_384


async def test_gates_and_record_see_the_tool_that_is_named() -> None:
    known = _policy([_tool("desk.tool_001", tier=Tier.ELEVATED)])
    call = await _evaluated(known, '{"name": "desk.tool_001", "arguments": {"id": "a"}}')
    assert (call.tool_name, call.tier, call.input) == ("desk.tool_001", "elevated", {"id": "a"})
    assert call.approval_id is not None and call.refusal is None
    direct = await _evaluated(known, '{"id": "a"}', "desk.tool_001")
    assert (call.params_hash, call.decision) == (direct.params_hash, direct.decision)
    by_alias = await _evaluated(known, '{"name": "desk__tool_001", "arguments": {"id": "a"}}')
    assert by_alias.tool_name == "desk.tool_001"


@pytest.mark.parametrize(
    ("known", "code"),
    [
        ({"grants": (("desk.tool_001", "deny"),)}, "permission_denied"),
        ({"agent_tools": frozenset({"save_note"})}, "not_allowed"),
        ({"settings": {"desk.tool_001": Setting(enabled=False)}}, "not_allowed"),
        ({"operator_tools": frozenset({"save_note"})}, "not_allowed"),
        ({"role": None}, "permission_denied"),
    ],
)
async def test_what_refuses_a_tool_refuses_it_through_tools_call(known: dict[str, Any], code: str) -> None:
    call = await _evaluated(_policy(MANY, **known), '{"name": "desk.tool_001", "arguments": {"id": "a"}}')
    assert (call.tool_name, call.refusal.code) == ("desk.tool_001", code)


@pytest.mark.parametrize(
    "arguments",
    [
        "", "[]", '"x"', "{", '{"name": "desk.tool_001"}', '{"arguments": {}}', '{"name": 1, "arguments": {}}',
        '{"name": "desk.tool_001", "arguments": "{}"}', '{"name": "desk.tool_001", "arguments": {}, "more": 1}',
        '{"name": "tools_call", "arguments": {"name": "desk.tool_001", "arguments": {}}}',
        '{"name": "desk.tool_001", "name": "save_note", "arguments": {}}', '{"name": "", "arguments": {}}',
        '{"name": "a\\ud800", "arguments": {}}',
    ],
)  # fmt: skip
async def test_a_call_that_names_no_tool_is_told_what_is_wrong_with_it_and_is_no_call(arguments: str) -> None:
    call = await _evaluated(_policy(MANY), arguments)
    assert (call.tool_name, call.refusal.code) == ("tools_call", "validation_error")


async def test_the_arguments_of_the_named_tool_meet_its_own_schema() -> None:
    call = await _evaluated(_policy(MANY), '{"name": "desk.tool_001", "arguments": {"other": 1}}')
    assert (call.tool_name, call.refusal.code, call.refusal.field) == ("desk.tool_001", "validation_error", "other")


def test_a_call_is_wrapped_as_it_was_named() -> None:
    name, text = naming.wrapped("desk.tool_001", '{"id":"a"}')
    assert naming.named(name, text) == ("desk.tool_001", '{"id": "a"}')


async def test_finders_are_called_whatever_lists_say_and_are_in_none() -> None:
    known = _policy(MANY, agent_tools=frozenset({"desk.*"}), operator_tools=frozenset({"desk.*"}))
    call = await _evaluated(known, '{"query": "tool"}', "tools_search")
    assert call.refusal is None
    assert not set(FINDERS) & {tool.name for tool in evaluation.offered(_policy(MANY))}
