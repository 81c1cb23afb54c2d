"""What a call of an OpenAPI operation sends: styles of parameters, forms, names, and what may be null."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from services.errors import InvalidService
from services.execution import request
from services.execution.request import Request
from services.offers import openapi
from services.offers.placing import Http
from tests.people import Cast
from tests.services.api import Api, Owner, as_json, call
from tests.stack import Stack
from tools.errors import ToolValidationError

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
OBJECT = {"type": "object", "properties": {"from": TEXT, "to": TEXT}}
FORM = "application/x-www-form-urlencoded"


def operation(path: str = "/things", method: str = "get", version: str = "3.1.0", **given: Any) -> dict[str, Any]:
    """A document with one operation, `it`."""
    return {"openapi": version, "paths": {path: {method: {"operationId": "it", **given}}}}


def parameter(name: str, schema: Any, where: str = "query", **more: Any) -> dict[str, Any]:
    """One parameter."""
    return {"name": name, "in": where, "schema": schema, **more}


def schema_of(document: dict[str, Any]) -> dict[str, Any]:
    """What a model is shown of the operation."""
    [tool] = openapi.read("host", document, ["it"]).tools
    return tool.parameters


def sent(document: dict[str, Any], arguments: dict[str, Any]) -> Request:
    """The request of a call of the operation."""
    [tool] = openapi.read("host", document, ["it"]).tools
    assert tool.http is not None
    return request.build("https://api.example/v2", Http.stored(tool.http), arguments, {})


def query(document: dict[str, Any], arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """The query of a call, in order."""
    return parse_qsl(sent(document, arguments).url.partition("?")[2], keep_blank_values=True)


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, [("ids", "a"), ("ids", "b")]),
        ({"explode": False}, [("ids", "a,b")]),
        ({"style": "form", "explode": True}, [("ids", "a"), ("ids", "b")]),
        ({"style": "spaceDelimited", "explode": False}, [("ids", "a b")]),
        ({"style": "pipeDelimited"}, [("ids", "a|b")]),
        ({"style": "pipeDelimited", "explode": True}, [("ids", "a"), ("ids", "b")]),
    ],
)
def test_a_list_in_a_query_is_written_in_the_style_of_its_parameter(
    more: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    assert query(operation(parameters=[parameter("ids", TEXTS, **more)]), {"ids": ["a", "b"]}) == found


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, [("from", "1"), ("to", "2")]),
        ({"explode": False}, [("at", "from,1,to,2")]),
        ({"style": "deepObject", "explode": True}, [("at[from]", "1"), ("at[to]", "2")]),
    ],
)
def test_an_object_in_a_query_is_written_in_the_style_of_its_parameter(
    more: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    document = operation(parameters=[parameter("at", OBJECT, **more)])
    assert query(document, {"at": {"from": "1", "to": "2"}}) == found


def test_a_parameter_that_is_described_by_a_media_type_is_sent_as_json() -> None:
    given = {"name": "filter", "in": "query", "content": {"application/json": {"schema": TEXTS}}}
    assert query(operation(parameters=[given]), {"filter": ["a", "b"]}) == [("filter", '["a","b"]')]


def test_lists_in_paths_and_headers_are_separated_by_commas_and_leave_neither() -> None:
    document = operation(
        "/things/{ids}", parameters=[parameter("ids", TEXTS, "path"), parameter("X-Tags", TEXTS, "header")]
    )
    made = sent(document, {"ids": ["a/b", "c"], "X-Tags": ["x", "y"]})
    assert (made.url, made.headers["X-Tags"]) == ("https://api.example/v2/things/a%2Fb,c", "x,y")
    for unusable in (["..", "a"], [], ["a", "b/../c"]):
        with pytest.raises(ToolValidationError):
            sent(document, {"ids": unusable})


@pytest.mark.parametrize(("where", "style"), [("path", "matrix"), ("path", "label"), ("query", "other"), ("query", 7)])
def test_a_style_that_is_not_known_is_refused_and_not_guessed(where: str, style: Any) -> None:
    path = "/things/{ids}" if where == "path" else "/things"
    with pytest.raises(InvalidService, match="is written in the style"):
        schema_of(operation(path, parameters=[parameter("ids", TEXTS, where, style=style)]))


def test_arguments_have_the_names_that_the_document_has() -> None:
    document = operation(
        parameters=[parameter("$top", {"type": "integer"}), parameter("filter[state]", TEXT), parameter("a.b", TEXT)]
    )
    assert list(schema_of(document)["properties"]) == ["$top", "filter[state]", "a.b"]
    given = {"$top": 5, "filter[state]": "open", "a.b": "c"}
    assert query(document, given) == [("$top", "5"), ("filter[state]", "open"), ("a.b", "c")]
    fields = {"type": "object", "properties": {"@type": TEXT, "name": TEXT}, "required": ["@type"]}
    document = operation(method="post", requestBody=content("application/json", fields))
    assert (schema_of(document)["required"], list(schema_of(document)["properties"])) == (["@type"], ["@type", "name"])
    assert sent(document, {"@type": "Card", "name": "n"}).data == b'{"@type":"Card","name":"n"}'


def test_a_body_with_a_field_without_a_name_is_one_argument() -> None:
    document = operation(
        method="post", requestBody=content("application/json", {"type": "object", "properties": {"": TEXT, "a": TEXT}})
    )
    assert list(schema_of(document)["properties"]) == ["body"]
    assert sent(document, {"body": {"": "x", "a": "y"}}).data == b'{"":"x","a":"y"}'


def content(kind: str, schema: Any, **more: Any) -> dict[str, Any]:
    """A body that is required."""
    return {"required": True, "content": {kind: {"schema": schema, **more}}}


def test_a_form_is_sent_field_by_field_in_the_styles_that_the_document_names(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    fields = {"amount": {"type": "integer"}, "currency": TEXT, "expand": TEXTS, "metadata": OBJECT, "items": TEXTS}
    deep = {"style": "deepObject", "explode": True}
    form = content(
        FORM,
        {"type": "object", "properties": fields, "required": ["amount"]},
        encoding={"metadata": deep, "items": deep},
    )
    api.on("/charges", as_json({"id": "ch_1"}))
    owner = Owner(stack, tenant.olga)
    document = operation("/charges", "post", requestBody=form)
    owner.add(url, slug="pay", kind="openapi", descriptor=None, openapi=document, operations=["it"])
    charge = {"amount": 5, "currency": "e&r", "expand": ["a", "b"], "metadata": {"from": "x"}, "items": ["i", "j"]}
    assert call(stack, tenant.alice, "pay.it", charge)["output"] == {"id": "ch_1"}
    assert call(stack, tenant.alice, "pay.it", {"currency": "eur"})["error"]["code"] == "validation_error"
    [asked] = api.asked
    assert asked.headers["content-type"] == FORM
    assert sorted(parse_qsl(asked.body.decode())) == [
        ("amount", "5"), ("currency", "e&r"), ("expand", "a"), ("expand", "b"), ("items[0]", "i"), ("items[1]", "j"),
        ("metadata[from]", "x"),
    ]  # fmt: skip


def test_a_form_without_fields_of_its_own_is_one_argument() -> None:
    form = content(FORM, {"allOf": [{"type": "object", "properties": {"a": TEXT}}]})
    made = sent(operation(method="post", requestBody=form), {"body": {"a": "1", "b": None, "c": ["x", "y"]}})
    assert made.data == b"a=1&c=x&c=y"


def test_json_is_sent_where_a_body_may_be_json_or_a_form() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}}
    both = {"content": {FORM: {"schema": schema}, "application/json": {"schema": schema}}}
    made = sent(operation(method="post", requestBody=both), {"a": "1"})
    assert (made.data, made.headers["Content-Type"]) == (b'{"a":"1"}', "application/json")


def test_what_only_answers_have_is_no_argument_although_the_document_requires_it() -> None:
    thing = {
        "type": "object",
        "properties": {"id": TEXT | {"readOnly": True}, "name": TEXT},
        "required": ["id", "name"],
    }
    document = operation(method="post", requestBody=content("application/json", {"$ref": "#/components/schemas/thing"}))
    document["components"] = {"schemas": {"thing": thing | {"properties": thing["properties"] | {"in": thing}}}}
    shown = schema_of(document)
    assert shown["required"] == ["name"]
    assert shown["properties"] == {
        "name": TEXT, "in": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}
    }  # fmt: skip


def test_what_may_be_null_may_be_so_beside_a_reference_too() -> None:
    owner = {"type": "object", "properties": {"name": TEXT}}
    fields = {
        "a": {"nullable": True, "allOf": [{"$ref": "#/components/schemas/owner"}], "description": "Who."},
        "b": {"$ref": "#/components/schemas/owner", "nullable": True},
        "c": {"nullable": True},
        "d": {"type": "string", "enum": ["x"], "nullable": True},
    }
    body = content("application/json", {"type": "object", "properties": fields})
    document = operation(method="post", version="3.0.3", requestBody=body)
    document["components"] = {"schemas": {"owner": owner}}
    assert schema_of(document)["properties"] == {
        "a": {"anyOf": [{"allOf": [owner]}, {"type": "null"}], "description": "Who."},
        "b": owner | {"type": ["object", "null"]},
        "c": {},
        "d": {"type": ["string", "null"], "enum": ["x", None]},
    }


def test_what_stands_beside_a_reference_holds_as_well_as_what_it_names() -> None:
    document = operation(
        parameters=[
            parameter("a", {"$ref": "#/components/schemas/text", "description": "Ours."}),
            parameter("b", {"$ref": "#/components/schemas/text", "maxLength": 9}),
            parameter("c", {"$ref": "#/components/schemas/text", "minLength": 7}),
        ]
    )
    text = {"type": "string", "minLength": 2, "description": "Theirs."}
    document["components"] = {"schemas": {"text": text}}
    assert schema_of(document)["properties"] == {
        "a": text | {"description": "Ours."},
        "b": text | {"maxLength": 9},
        "c": {"allOf": [text, {"minLength": 7}]},
    }


def test_a_path_that_is_a_component_has_its_operations_and_a_document_may_be_of_3_2() -> None:
    document = {
        "openapi": "3.2.0",
        "paths": {"/a/{id}": {"$ref": "#/components/pathItems/one"}, "/b": {"$ref": "https://elsewhere.example/b"}},
        "components": {
            "pathItems": {"one": {"get": {"operationId": "it"}, "parameters": [parameter("id", TEXT, "path")]}}
        },
    }
    assert [choice.title for choice in openapi.choices(document)] == ["GET /a/{id}"]
    assert sent(document, {"id": "7"}).url == "https://api.example/v2/a/7"


def test_a_path_whose_part_is_no_parameter_of_it_is_refused() -> None:
    with pytest.raises(InvalidService, match="names id, which is not among"):
        schema_of(operation("/a/{id}", parameters=[parameter("id", TEXT)]))
