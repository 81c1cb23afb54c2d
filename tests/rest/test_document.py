"""The OpenAPI document, as bytes that are built once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from gateway.rest.framework import document

JSON = "application/vnd.oai.openapi+json"


def test_ten_at_once_get_one_document_that_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[object] = []
    build = SchemaGenerator.get_schema

    def counting(self: SchemaGenerator, *args: object, **kwargs: object) -> object:
        built.append(self)
        return build(self, *args, **kwargs)

    monkeypatch.setattr(SchemaGenerator, "get_schema", counting)
    monkeypatch.setattr(document, "_built", {})
    with ThreadPoolExecutor(10) as threads:
        paths = [f"/api/schema/?version={number}&lang=de" for number in range(10)]
        answers = list(threads.map(lambda path: Client().get(path, headers={"Accept": JSON}), paths))
    assert [answer.status_code for answer in answers] == [200] * 10
    assert len({answer.content for answer in answers}) == len(built) == 1
    assert answers[0].json()["info"]["version"] == "1"


def test_who_has_the_document_is_not_sent_it_again() -> None:
    first = Client().get("/api/schema/")
    again = Client().get("/api/schema/", headers={"If-None-Match": first["ETag"]})
    assert (first["Content-Type"], again.status_code, again.content) == ("application/vnd.oai.openapi", 304, b"")
    assert Client().get("/api/schema/", headers={"Accept": JSON})["ETag"] != first["ETag"]


def test_a_problem_is_json_also_where_answers_are_not() -> None:
    for path in ("/api/schema/", "/api/docs/"):
        answer = Client().post(path)
        assert (answer.status_code, answer["Content-Type"]) == (405, "application/problem+json")
        assert answer.json()["code"] == "method_not_allowed"
