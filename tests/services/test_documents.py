"""Documents in YAML: what of it is read, and what is refused because it says more than JSON can."""

import time
from typing import Any

import pytest

from services.errors import InvalidService
from services.offers import documents, openapi
from services.reading import discovery

OPENAPI = """
openapi: 3.0.3
info: {title: "Pets", version: 1.0}
servers:
  - url: https://pets.example.com/v1
paths:
  /pets/{id}:
    get:
      operationId: getPet   # a comment
      description: |
        Say who
        it is.
      parameters:
        - {name: id, in: path, required: true, schema: {type: string, default: no}}
      responses:
        200: {description: yes}
"""


def test_an_openapi_document_in_yaml_is_what_it_is_in_json() -> None:
    found = discovery.of_text(OPENAPI)
    assert (found.kind, found.url, found.title) == ("openapi", "https://pets.example.com/v1", "Pets")
    assert [choice.name for choice in found.choices] == ["getPet"]
    # What is pasted is kept as JSON.
    document = documents.decoded(found.text, "url")
    assert document == documents.decoded(OPENAPI, "url")
    operation = document["paths"]["/pets/{id}"]["get"]
    assert operation["description"] == "Say who\nit is.\n"
    assert operation["responses"] == {"200": {"description": "yes"}}
    [tool] = openapi.read("pets", document, ["getPet"]).tools
    assert tool.name == "getPet"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"), ("on", "on"), ("true", True), ("False", False), ("~", None), ("", None), ("null", None),
        ("12", 12), ("-3", -3), ("0x1F", "0x1F"), ("1:30", "1:30"), ("010", 10), ("1.5", 1.5), ("1e3", 1000.0),
        (".inf", ".inf"), (".nan", ".nan"), ("2026-11-22", "2026-11-22"), ("'12'", "12"), ('"\\u00e9"', "é"),
        ("9" * 30, 1e30), ("[1, {a: b}]", [1, {"a": "b"}]),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(written: str, value: Any) -> None:
    found = documents.decoded(f"a: {written}", "url")
    assert (found, type(found["a"])) == ({"a": value}, type(value))


BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]" for n in range(20)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "anchors and aliases are not taken (line 1)"),
        ("a: *b", "aliases are not taken"),
        ("a: !!python/object/apply:os.system [ls]", "tags are not taken"),
        ("a: !!str 1", "tags are not taken"),
        ("a: 1\n<<: {b: 2}", "a key that is no text"),
        ("? [a]\n: 1", "a key that is no text"),
        ("a: 1\na: 2", "a key occurs twice"),
        ("a: 1\n---\na: 2", "several documents"),
        ("[" * 100_000, "not JSON"),
        ("a: " + "[" * 2_000 + "]" * 2_000, "levels"),
        ("a: 1e999", "too large"),
        ("a: [", "neither JSON nor YAML (line"),
        ("a:\n\t- b", "line 2"),
        ("<html><body>Log in</body></html>", "it is a text"),
        ("{a: 1", "not JSON"),
        ("", "not JSON"),
        ("a: " + "x" * documents.MAX_YAML_BYTES, "may have up to"),
        ("\n".join(f"- {n}" for n in range(250_000)), "may have up to|more than"),
    ],
    ids=range(18),
)
def test_what_says_more_than_json_or_too_much_is_refused_soon(text: str, why: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidService, match=why.replace("(", r"\(").replace(")", r"\)")):
        documents.decoded(text, "url")
    assert time.process_time() - began < 20
