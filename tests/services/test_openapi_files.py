"""Operations that take forms with files: what a model gives for a file, and the form as it is sent."""

import base64
from email import message_from_bytes
from email.message import Message
from typing import Any

import pytest

from services.errors import InvalidService
from services.execution import multipart
from services.execution.request import Request
from tests.people import Cast
from tests.services.api import Api, Owner, as_json, call
from tests.services.test_openapi_requests import OBJECT, TEXT, TEXTS, operation, parameter, schema_of, sent
from tests.stack import Stack
from tools.errors import ToolValidationError
from tools.schemas import schema

FORM = "multipart/form-data"
BINARY = {"type": "string", "format": "binary"}
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00").decode()


def uploading(properties: dict[str, Any], *, required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """A document whose operation takes a form with these fields; `more` is the form's encoding."""
    form = {"schema": {"type": "object", "properties": properties, "required": required or []}} | more
    return operation("/files", "post", requestBody={"required": True, "content": {FORM: form}})


def fields(kind: str, body: bytes) -> list[tuple[str, str | None, str | None, bytes]]:
    """What a server finds in a form: name, file name, media type and content of each field."""
    whole: Message = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    assert whole.is_multipart()
    found = []
    for part in whole.get_payload():
        assert isinstance(part, Message)
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(name, str) and isinstance(content, bytes)
        found.append((name, part.get_filename(), part["content-type"], content))
    return found


def of(request: Request) -> list[tuple[str, str | None, str | None, bytes]]:
    """The same of a request."""
    assert request.data is not None
    return fields(request.headers["Content-Type"], request.data)


def test_a_file_and_the_fields_beside_it_reach_the_service(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    document = uploading(
        {"file": BINARY, "channels": TEXTS, "meta": OBJECT, "size": {"type": "integer"}}, required=["file"]
    )
    api.on("/files", as_json({"id": "F1"}))
    Owner(stack, tenant.olga).add(
        url, slug="store", kind="openapi", descriptor=None, openapi=document, operations=["it"]
    )
    given = {"file": {"name": "a.csv", "text": "ü,1"}, "channels": ["x", "y"], "meta": {"from": "z"}, "size": 7}
    assert call(stack, tenant.alice, "store.it", given)["output"] == {"id": "F1"}
    refused = call(stack, tenant.alice, "store.it", {"file": {"name": "a.png", "base64": "not base64!"}})
    assert (refused["error"]["code"], refused["error"]["field"]) == ("validation_error", "file.base64")
    [asked] = api.asked
    assert fields(asked.headers["content-type"], asked.body) == [
        ("file", "a.csv", "text/csv", "ü,1".encode()),
        ("meta", None, "application/json", b'{"from":"z"}'),
        ("size", None, None, b"7"),
        ("channels", None, None, b"x"),
        ("channels", None, None, b"y"),
    ]


@pytest.mark.parametrize(
    "described",
    [
        BINARY,
        {"type": "string", "contentMediaType": "application/octet-stream"},
        {"anyOf": [BINARY, {"type": "null"}], "title": "File"},
        {"type": ["string", "null"], "format": "binary"},
    ],
)
def test_a_file_is_told_by_the_words_of_each_version(described: dict[str, Any]) -> None:
    shown = schema_of(uploading({"file": described}))["properties"]["file"]
    assert (shown["type"], shown["required"]) == ("object", ["name"])
    made = sent(uploading({"file": described}), {"file": {"name": "a.bin", "base64": PIXEL}})
    assert of(made) == [("file", "a.bin", "application/octet-stream", base64.b64decode(PIXEL))]


@pytest.mark.parametrize(
    "described", [TEXT, {"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}, {}]
)
def test_a_text_is_no_file_although_it_may_hold_one(described: dict[str, Any]) -> None:
    document = uploading({"data": described})
    assert schema_of(document)["properties"]["data"] == described
    assert of(sent(document, {"data": "aGk="})) == [("data", None, None, b"aGk=")]


def test_the_media_type_is_the_callers_else_the_documents_else_that_of_the_name() -> None:
    plain, drawn = uploading({"file": BINARY}), {"file": {"contentType": "image/*, image/png, image/jpeg"}}
    image = uploading({"file": {}}, encoding=drawn)
    file = {"name": "a.pdf", "base64": PIXEL}
    kinds = [
        of(sent(document, {"file": file | more}))[0][2]
        for document, more in ((plain, {}), (image, {}), (image, {"media_type": "image/gif"}), (plain, {"name": "a"}))
    ]
    assert kinds == ["application/pdf", "image/png", "image/gif", "application/octet-stream"]


def test_several_files_are_several_fields_and_a_field_that_is_json_says_so() -> None:
    encoding = {"rows": {"contentType": "application/json"}, "ids": {"style": "form", "explode": False}}
    document = uploading(
        {"files": {"type": "array", "items": BINARY, "maxItems": 2}, "rows": TEXTS, "ids": TEXTS}, encoding=encoding
    )
    assert schema_of(document)["properties"]["files"]["maxItems"] == 2
    given = {"files": [{"name": "a", "text": "1"}, {"name": "b", "text": "2"}], "rows": ["x"], "ids": ["7", "8"]}
    assert of(sent(document, given)) == [
        ("files", "a", "application/octet-stream", b"1"),
        ("files", "b", "application/octet-stream", b"2"),
        ("rows", None, "application/json", b'["x"]'),
        ("ids", None, None, b"7,8"),
    ]


def test_no_name_ends_its_header() -> None:
    document = uploading({'a"; x="y\r\nX-Evil: 1': BINARY})
    [name] = schema_of(document)["properties"]
    made = sent(document, {name: {"name": 'b"\r\nX-Evil: 1', "text": "t"}})
    assert made.data is not None
    assert b"\r\nX-Evil" not in made.data
    assert b'name="a%22; x=%22y%0D%0AX-Evil: 1"; filename="b%22%0D%0AX-Evil: 1"\r\n' in made.data


@pytest.mark.parametrize(
    "file",
    [
        {"name": "a"}, {"text": "t"}, {"name": "", "text": "t"}, {"name": "../a", "text": "t"}, "t",
        {"name": "a", "text": "t", "base64": ""}, {"name": "a", "base64": "abc"}, {"name": "a", "base64": "ab c"},
        {"name": "a", "text": "t", "media_type": "text/plain\r\nX: y"}, {"name": "a", "text": "t", "more": 1},
    ],
)  # fmt: skip
def test_what_is_no_file_is_refused_before_anybody_is_asked(file: Any) -> None:
    assert schema.check(schema_of(uploading({"file": BINARY})), {"file": file}) is not None


@pytest.mark.parametrize(
    "file", ["t", {}, {"name": "a"}, {"name": "a", "base64": "?"}, {"name": "a", "text": "t", "media_type": "a\r\nb"}]
)
def test_what_is_no_file_is_not_sent_either(file: Any) -> None:
    with pytest.raises(ToolValidationError):
        multipart.parts("file", "file", file, "file", "")


def test_the_largest_file_that_fits_is_checked_and_sent() -> None:
    document = uploading({"file": BINARY})
    content = base64.b64encode(bytes(149_999)).decode()
    assert len(content) == 200_000
    given = {"file": {"name": "a", "base64": content}}
    assert schema.check(schema_of(document), given) is None
    assert of(sent(document, given))[0][3] == bytes(149_999)


def test_a_field_with_the_name_of_a_parameter_has_one_of_its_own() -> None:
    document = uploading({"id": TEXT})
    document["paths"]["/files"]["post"]["parameters"] = [parameter("id", TEXT)]
    made = sent(document, {"id": "q", "id_body": "b"})
    assert (made.url.partition("?")[2], of(made)) == ("id=q", [("id", None, None, b"b")])


def test_a_form_that_names_no_fields_is_refused_where_it_is_needed() -> None:
    form = {"required": True, "content": {FORM: {"schema": {"allOf": [{"type": "object"}]}}}}
    with pytest.raises(InvalidService, match="neither JSON nor a plain form, with files or without"):
        schema_of(operation(method="post", requestBody=form))
    assert schema_of(operation(method="post", requestBody=form | {"required": False}))["properties"] == {}
