"""What clients and providers should not send: each is refused by its SDK's own error, or harmless."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gateway.compat.serving import MAX_BODY_BYTES
from gateway.models import Agent
from tenants.scope.routing import on_login
from tests.compat.clients import CLIENTS, WEATHER, Call, Client
from tests.database import rows
from tests.hostile.upstream import Upstream, call_delta, completion, streamed
from tests.people import Cast, Person
from tests.stack import Stack

MODEL = "openai/m"
ROME = Call("call_nobody_made", "get_weather", {"city": "Rome"})
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}

Made = Callable[[Stack, Person], Client]


@pytest.fixture(params=CLIENTS.values(), ids=CLIENTS)
def made(request: pytest.FixtureRequest) -> Made:
    """A kind of client."""
    kind: Made = request.param
    return kind


@pytest.fixture
def client(made: Made, upstream: Upstream, tenant: Cast) -> Client:
    """Alice's."""
    return made(upstream.stack, tenant.alice)


def _nothing_ran(tenant: Cast) -> bool:
    return rows("SELECT 1 AS it FROM runs WHERE tenant_id = %(id)s", id=tenant.id) == []


# --- transcripts -----------------------------------------------------------------------------------------------------
def test_a_result_of_a_call_that_nobody_made(client: Client, tenant: Cast) -> None:
    with pytest.raises(client.errors.BadRequestError, match="call_nobody_made"):
        client.ask(MODEL, [client.user("hi"), client.result(ROME, "sunny")])
    assert _nothing_ran(tenant)


def test_a_call_without_a_result(client: Client, tenant: Cast) -> None:
    with pytest.raises(client.errors.BadRequestError, match="call_nobody_made"):
        client.ask(MODEL, [client.user("hi"), *client.called(ROME), client.user("and?")])
    assert _nothing_ran(tenant)


def test_two_results_of_one_call(client: Client, tenant: Cast) -> None:
    results = [client.result(ROME, "sunny"), client.result(ROME, "rainy")]
    with pytest.raises(client.errors.BadRequestError):
        client.ask(MODEL, [client.user("hi"), *client.called(ROME), *results])
    assert _nothing_ran(tenant)


def test_another_users_call_ids_are_only_words(
    made: Made, client: Client, upstream: Upstream, tenant: Cast, other_tenant: Cast
) -> None:
    script = upstream.script(
        completion("Saving.", ("n1", "save_note", '{"title": "secret", "content": "b"}')), completion("Saved.")
    )
    saved = client.ask(MODEL, [client.user(script.name)])
    note = Call(f"call_{saved.toolgate['tool_calls'][0]['id'].replace('-', '')}", "save_note", {})
    for person in (tenant.bob, other_tenant.alice):
        thief = made(upstream.stack, person)
        stolen = [thief.user(script.name), *thief.called(note), thief.result(note, "?"), thief.user(script.name)]
        answer = thief.ask(MODEL, stolen)
        assert "secret" not in str(script.asked[-1])
        assert (answer.toolgate["tool_calls"], answer.text) == ([], "Saved.")
        assert answer.toolgate["conversation_id"] != saved.toolgate["conversation_id"]
    assert len(rows("SELECT 1 AS it FROM notes WHERE title = 'secret' AND tenant_id = %(id)s", id=tenant.id)) == 1


def test_an_oversized_body(client: Client, tenant: Cast) -> None:
    with pytest.raises(client.errors.APIStatusError) as refused:
        client.ask(MODEL, [client.user("x" * (MAX_BODY_BYTES + 1))])
    assert refused.value.status_code == 413
    assert _nothing_ran(tenant)


# --- tools -----------------------------------------------------------------------------------------------------------
def test_500_tools(client: Client, upstream: Upstream) -> None:
    script = upstream.script(completion("", ("c1", "tool_499", "{}")))
    tools = {f"tool_{number}": OBJECT for number in range(500)}
    said = client.ask(MODEL, [client.user(script.name)], tools=tools)
    assert [call.name for call in said.calls] == ["tool_499"]
    sent = {tool["function"]["name"] for tool in script.asked[0]["tools"]}
    assert sent >= tools.keys()


@pytest.mark.parametrize("name", ["weather.in.rome", "погода", "天気 🌦", "a" * 200, "-", "a/b:c"])
def test_a_tools_name_that_a_provider_would_refuse(client: Client, upstream: Upstream, name: str) -> None:
    script = upstream.script(completion("Hi."))
    tools = {name: {"type": "object", "properties": {"mine": {"type": "string"}}}}
    transcript = [client.user(script.name)]
    client.ask(MODEL, transcript, tools=tools)
    sent = {tool["function"]["name"]: str(tool["function"]["parameters"]) for tool in script.asked[0]["tools"]}
    assert [alias for alias in sent if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", alias)] == []
    [alias] = [alias for alias, parameters in sent.items() if "'mine'" in parameters]
    script.replies += [completion("", ("c1", alias, "{}")), completion("Done.")]
    said = client.ask(MODEL, transcript, tools=tools)
    assert [call.name for call in said.calls] == [name]
    transcript += [*said.items, client.result(said.calls[0], "yes")]
    assert client.ask(MODEL, transcript, tools=tools).text == "Done."
    shown = [call["function"]["name"] for each in script.asked[-1]["messages"] for call in each.get("tool_calls", ())]
    assert shown == [alias]


def test_names_that_come_to_the_same_alias(client: Client, upstream: Upstream) -> None:
    script = upstream.script(completion("Hi."))
    client.ask(MODEL, [client.user(script.name)], tools={"a.b": OBJECT, "a__b": OBJECT, "a:b": OBJECT})
    sent = [tool["function"]["name"] for tool in script.asked[0]["tools"]]
    assert len(set(sent)) == len(sent)


def test_a_recursive_schema_goes_through(client: Client, upstream: Upstream) -> None:
    tree = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    script = upstream.script(completion("", ("c1", "grow", '{"left": {"left": {}}}')))
    said = client.ask(MODEL, [client.user(script.name)], tools={"grow": tree})
    assert [call.arguments for call in said.calls] == [{"left": {"left": {}}}]
    assert (
        next(tool for tool in script.asked[0]["tools"] if tool["function"]["name"] == "grow")["function"]["parameters"]
        == tree
    )


def test_a_schema_that_is_too_deep(client: Client, tenant: Cast) -> None:
    schema: dict[str, Any] = OBJECT
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(client.errors.BadRequestError):
        client.ask(MODEL, [client.user("hi")], tools={"deep": schema})
    assert _nothing_ran(tenant)


# --- providers -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stream", [False, True])
def test_a_provider_that_repeats_an_id(client: Client, upstream: Upstream, stream: bool) -> None:
    rome, oslo = ("c1", "get_weather", '{"city": "Rome"}'), ("c1", "get_weather", '{"city": "Oslo"}')
    twice = (
        streamed(call_delta(0, *rome), call_delta(1, *oslo), finish="tool_calls")
        if stream
        else completion("", rome, oslo)
    )
    script = upstream.script(twice, twice, completion("Done.") if not stream else streamed({"content": "Done."}))
    transcript = [client.user(script.name)]
    for _ in range(2):
        said = client.ask(MODEL, transcript, tools=WEATHER, stream=stream)
        assert [call.arguments for call in said.calls] == [{"city": "Rome"}, {"city": "Oslo"}]
        transcript += [*said.items, *(client.result(call, "sunny") for call in said.calls)]
    assert client.ask(MODEL, transcript, tools=WEATHER, stream=stream).text == "Done."
    ids = [call["id"] for each in script.asked[-1]["messages"] for call in each.get("tool_calls") or ()]
    assert len(set(ids)) == len(ids) == 4


def test_a_stream_that_ends_without_a_reason(client: Client, upstream: Upstream) -> None:
    script = upstream.script(streamed({"content": "Half"}, {"content": " an"}, finish=None))
    with pytest.raises((client.broken, client.errors.InternalServerError)):
        client.ask(MODEL, [client.user(script.name)], stream=True)


def test_a_provider_that_stalls(client: Client, upstream: Upstream, tenant: Cast) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(max_seconds=2)
    gate = threading.Event()
    script = upstream.script(completion("Too late.", gate=gate))
    said = client.ask(MODEL, [client.user(script.name)])
    gate.set()
    assert (said.text, said.finish, said.toolgate["status"]) == ("", client.finishes["cut"], "incomplete")
