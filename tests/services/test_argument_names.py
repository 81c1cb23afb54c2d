"""Arguments that a provider refuses by their names or alternatives: models are told others, all else is as it was."""

import json
from typing import Any

import httpx

from tests.database import rows
from tests.hostile.upstream import Script, Upstream, completion
from tests.people import Cast
from tests.services.api import Api, Owner, as_json, call
from tests.services.mcp_server import Server
from tests.services.test_mcp_services import add
from tests.services.test_openapi_requests import operation, parameter
from tests.stack import Stack

TEXT = {"type": "string"}
TOOL = {
    "name": "list",
    "description": "Lists what a filter finds.",
    "inputSchema": {
        "type": "object",
        "properties": {"$filter": TEXT, "tags[]": {"type": "array", "items": TEXT}, "page.size": {"type": "integer"}},
        "required": ["$filter"],
    },
}
GIVEN = {"$filter": "state eq 'open'", "tags[]": ["a"], "page.size": 5}
ALIASED = {"filter": "state eq 'open'", "tags": ["a"], "page_size": 5}


def ask(stack: Stack, tenant: Cast, script: Script) -> Any:
    """A chat with the script's model."""
    body = {"model": "openai/test", "messages": [{"role": "user", "content": f"{script.name} list them"}]}
    answer = httpx.post(f"{stack.url}/v1/chat/completions", json=body, headers=tenant.alice.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def calling(name: str, arguments: dict[str, Any], number: int = 1) -> Any:
    """An answer of the model with one call."""
    return completion("", (f"c{number}", name, json.dumps(arguments)))


def told(script: Script, name: str, turn: int = 0) -> Any:
    """The schema that the model was told of a tool."""
    tools = [each["function"] for each in script.asked[turn]["tools"]]
    [found] = [each["parameters"] for each in tools if each["name"] == name]
    return found


def test_a_model_calls_an_mcp_tool_by_aliases_and_all_others_see_the_servers_own_names(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api)
    server.tools = [TOOL]
    add(Owner(stack, tenant.olga), url)
    script = model.script(calling("far__list", ALIASED), completion("Done."))
    answer = ask(stack, tenant, script)
    schema = told(script, "far__list")
    assert (set(schema["properties"]), schema["required"]) == (set(ALIASED), ["filter"])
    [made] = answer["toolgate"]["tool_calls"]
    assert (made["status"], made["input"]) == ("success", GIVEN)
    assert [each["arguments"] for each in server.calls] == [GIVEN]
    [row] = rows("SELECT input FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["input"] == GIVEN
    # What the model wrote is what it is shown again.
    [shown] = [each for each in script.asked[1]["messages"] if each.get("tool_calls")]
    assert json.loads(shown["tool_calls"][0]["function"]["arguments"]) == ALIASED


def test_the_gates_see_the_servers_own_names(stack: Stack, model: Upstream, tenant: Cast, api: Api, url: str) -> None:
    server = Server(api)
    server.tools = [TOOL]
    add(Owner(stack, tenant.olga), url)
    script = model.script(
        calling("far__list", {"filter": 7}), calling("far__list", ALIASED | GIVEN, 2), completion("I cannot.")
    )
    wrong, twice = ask(stack, tenant, script)["toolgate"]["tool_calls"]
    assert (wrong["error"]["code"], wrong["error"]["field"]) == ("validation_error", "$filter")
    assert (twice["error"]["code"], twice["input"]) == ("validation_error", ALIASED | GIVEN)
    assert server.calls == []


def test_alternatives_that_providers_refuse_are_said_in_words_and_held_to_by_the_gates(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, url: str
) -> None:
    alternatives = [
        {"type": "object", "properties": {"content": TEXT}, "required": ["content"]},
        {"type": "object", "properties": {"source_url": TEXT}, "required": ["source_url"]},
    ]
    server = Server(api)
    server.tools = [TOOL | {"name": "attach", "inputSchema": {"type": "object", "anyOf": alternatives}}]
    server.call = lambda params, asked: {"content": []}
    add(Owner(stack, tenant.olga), url)
    script = model.script(
        calling("far__attach", {}), calling("far__attach", {"content": "c", "name": "n"}, 2),
        calling("far__attach", {"source_url": "u"}, 3), completion("Done."),
    )  # fmt: skip
    calls = ask(stack, tenant, script)["toolgate"]["tool_calls"]
    schema = told(script, "far__attach")
    assert (set(schema), set(schema["properties"])) == (
        {"type", "properties", "additionalProperties"}, {"content", "source_url"},
    )  # fmt: skip
    [described] = [each["function"] for each in script.asked[0]["tools"] if each["function"]["name"] == "far__attach"]
    said = described["description"].partition("this JSON Schema, too: ")[2]
    assert json.loads(said) == {"anyOf": alternatives}
    assert [each["error"] and each["error"]["code"] for each in calls] == ["validation_error"] * 2 + [None]
    assert [each["arguments"] for each in server.calls] == [{"source_url": "u"}]


def test_an_openapi_operation_keeps_the_names_of_its_document_but_for_the_model(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, url: str
) -> None:
    api.on("/things", as_json({"ok": True}))
    parameters = [parameter("$top", {"type": "integer"}), parameter("filter[state]", TEXT)]
    owner = Owner(stack, tenant.olga)
    owner.add(
        url, slug="odata", kind="openapi", descriptor=None, openapi=operation(parameters=parameters), operations=["it"]
    )
    owner.say("odata", "it", tier="read_only")
    # Who calls without a model uses the document's names.
    assert call(stack, tenant.alice, "odata.it", {"$top": 5, "filter[state]": "a"})["status"] == "success"
    script = model.script(calling("odata__it", {"top": 6}), completion("Done."))
    [made] = ask(stack, tenant, script)["toolgate"]["tool_calls"]
    assert (made["input"], made["status"]) == ({"$top": 6}, "success")
    assert [each.query for each in api.of("/things")] == [[("$top", "5"), ("filter[state]", "a")], [("$top", "6")]]


def test_a_client_with_a_loop_of_its_own_is_told_the_aliases_and_what_they_stand_for(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api)
    server.tools = [TOOL]
    add(Owner(stack, tenant.olga), url)
    body = stack.get(tenant.alice, "/api/v1/agents/default/native", params={"client": "anthropic"}).json()
    [listed] = [each for each in body["tools"] if each["name"] == "far.list"]
    assert listed == {
        "name": "far.list",
        "alias": "far__list",
        "arguments": {"filter": "$filter", "tags": "tags[]", "page_size": "page.size"},
    }
    [defined] = [each for each in body["definitions"] if each["name"] == "far__list"]
    assert set(defined["input_schema"]["properties"]) == set(listed["arguments"])
    assert all("arguments" not in each for each in body["tools"] if each["name"] != "far.list")
