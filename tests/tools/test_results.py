import json

import pytest

from tools.invocation.results import failure, success


def test_data_that_fits_is_given_whole():
    assert success({"results": ["é"]}) == '{"ok":true,"data":{"results":["é"]}}'


def test_data_of_exactly_the_limit_is_given_whole():
    assert json.loads(success("x" * 8, limit=10)) == {"ok": True, "data": "x" * 8}


def test_data_beyond_the_limit_is_the_beginning_of_its_text_and_says_so():
    assert json.loads(success({"a": "x" * 20}, limit=10)) == {
        "ok": True,
        "data": '{"a":"xxxx',
        "truncated": True,
        "original_bytes": 28,
    }


def test_the_cut_falls_between_characters():
    assert json.loads(success("é" * 10, limit=10))["data"] == '"éééé'
    assert json.loads(success("😀" * 10, limit=10))["data"] == '"😀😀'


def test_the_limit_is_16384_bytes_unless_another_is_named():
    assert "truncated" not in json.loads(success("x" * 16_382))
    cut = json.loads(success("x" * 16_383))
    assert (len(cut["data"].encode()), cut["original_bytes"]) == (16_384, 16_385)


@pytest.mark.parametrize("data", [None, 0, False, "", [], {}])
def test_every_json_value_can_be_given(data):
    assert json.loads(success(data)) == {"ok": True, "data": data}


def test_an_error_has_its_code_and_message():
    assert failure("timeout", "Too slow.") == '{"ok":false,"error":{"code":"timeout","message":"Too slow."}}'


def test_a_validation_error_names_the_field_and_the_schema():
    shown = json.loads(failure("validation_error", "No.", field="limit", schema={"type": "object"}))
    assert shown["error"] == {
        "code": "validation_error",
        "message": "No.",
        "field": "limit",
        "schema": {"type": "object"},
    }


def test_a_schema_beyond_the_limit_is_left_out():
    shown = json.loads(failure("validation_error", "No.", schema={"enum": ["x" * 100]}, limit=50))
    assert shown == {"ok": False, "error": {"code": "validation_error", "message": "No."}}


def test_a_very_long_message_is_cut():
    assert len(json.loads(failure("execution_error", "x" * 100_000))["error"]["message"]) == 2_000


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "A" * 300}, {"data": "(300 characters of base64, "}),
        ({"type": "audio", "mimeType": "audio/ogg", "data": "A" * 300}, {"data": "(300 characters of base64, "}),
        ({"type": "resource", "resource": {"uri": "a:b", "blob": "A" * 300}}, {"resource": "(300 characters of "}),
    ],
)
def test_images_and_files_of_a_result_are_named_and_not_shown(block, told):
    shown = json.loads(
        success({"content": [{"type": "text", "text": "A" * 300}, block], "structuredContent": {"a": 1}})
    )
    text, found = shown["data"]["content"]
    assert text == {"type": "text", "text": "A" * 300}
    assert found | told == block | told and "A" * 300 not in json.dumps(found)
    for name, words in told.items():
        assert words in json.dumps(found[name])
    assert (shown["data"]["structuredContent"], "truncated" in shown) == ({"a": 1}, False)


@pytest.mark.parametrize(
    "data",
    [
        {"content": "A" * 300}, {"content": [7, None, {}]}, {"content": [{"type": "image", "data": 7}]},
        {"content": [{"type": "image", "data": "AAAA"}]}, {"content": [{"type": "resource", "resource": 7}]},
        {"content": [{"type": "resource", "resource": {"text": "A" * 300}}]},
        [{"type": "image", "data": "A" * 300}],
    ],
)  # fmt: skip
def test_what_only_looks_like_such_a_result_is_told_as_it_is(data):
    assert json.loads(success(data)) == {"ok": True, "data": data}
