import re

import pytest

from gateway.providers.interface import AssistantMessage, PromptMessage, SuggestedCall, ToolMessage, UserMessage
from gateway.providers.translation.call_ids import with_unique_ids
from gateway.providers.translation.names import Names, safe

ACCEPTED = re.compile(r"^[a-zA-Z0-9_-]{1,64}\Z")
ODD = [
    "",
    ".",
    "a b",
    "web_search\n",
    "wеb_search",
    "web\u200b_search",
    "x" * 65,
    "x" * 66,
    "a.b" * 30,
    "\ud800",
    "a/b",
    "a:b",
]


def test_a_name_that_every_provider_accepts_stays_as_it_is() -> None:
    names = Names(["web_search", "a-B_9", "x" * 64])
    for name in ("web_search", "a-B_9", "x" * 64):
        assert names.alias(name) == name
        assert names.real(name) == name


def test_a_dot_becomes_two_underscores_and_back() -> None:
    names = Names(["service.tool", "a.b.c"])
    assert names.alias("service.tool") == "service__tool"
    assert names.alias("a.b.c") == "a__b__c"
    assert names.real("service__tool") == "service.tool"
    assert names.real("a__b__c") == "a.b.c"


@pytest.mark.parametrize("name", ODD)
def test_every_alias_is_accepted_and_leads_back(name: str) -> None:
    names = Names([name, "other"])
    assert ACCEPTED.match(names.alias(name))
    assert names.real(names.alias(name)) == name


def test_no_two_names_share_an_alias() -> None:
    tools = [*ODD, "a.b", "a__b", "a._b", "a_.b", "a b", "a_b", "a\tb", safe("a b"), safe("x" * 65), "x" * 64]
    names = Names(tools)
    aliases = {names.alias(name) for name in tools}
    assert len(aliases) == len(set(tools))
    assert all(ACCEPTED.match(alias) for alias in aliases)
    assert [names.real(names.alias(name)) for name in tools] == tools
    assert names.alias("a__b") == "a__b"


def test_aliases_do_not_depend_on_the_order_of_the_tools() -> None:
    tools = ["a._b", "a_.b", "c.d", "e f"]
    forwards, backwards = Names(tools), Names(reversed(tools))
    assert [forwards.alias(name) for name in tools] == [backwards.alias(name) for name in tools]


def test_a_name_that_is_no_tools_is_sent_safely_and_comes_back_as_it_is() -> None:
    names = Names(["web_search"])
    assert ACCEPTED.match(names.alias("delete everything!"))
    assert names.alias("gone.tool") == "gone__tool"
    assert names.real("gone__tool") == "gone__tool"
    assert names.real("delete everything!") == "delete everything!"


def test_ids_that_are_fine_are_sent_as_they_are() -> None:
    messages = (AssistantMessage("", (SuggestedCall("call_1", "t", "{}"),)), ToolMessage("call_1", "t", "1"))
    assert with_unique_ids(messages) is messages


def test_equal_ids_are_told_apart_in_calls_and_results_alike() -> None:
    messages: tuple[PromptMessage, ...] = (
        UserMessage("x"),
        AssistantMessage("", (SuggestedCall("a", "t", "1"), SuggestedCall("a", "t", "2"))),
        ToolMessage("a", "t", "one"),
        ToolMessage("a", "t", "two"),
        AssistantMessage("", (SuggestedCall("a", "t", "3"), SuggestedCall("b c" * 30, "t", "4"))),
        ToolMessage("a", "t", "three"),
        ToolMessage("b c" * 30, "t", "four"),
    )
    sent = with_unique_ids(messages)
    calls = {
        call.id: call.arguments for message in sent if isinstance(message, AssistantMessage) for call in message.calls
    }
    results = {message.call_id: message.content for message in sent if isinstance(message, ToolMessage)}
    assert list(calls.values()) == ["1", "2", "3", "4"]
    assert [results[call_id] for call_id in calls] == ["one", "two", "three", "four"]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call_id) for call_id in calls)
