import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.canonical import canonical
from tools.errors import ToolValidationError
from tools.schemas.arguments import MAX_BYTES, MAX_DEPTH, parse


def refusal(raw):
    with pytest.raises(ToolValidationError) as caught:
        parse(raw)
    return caught.value


def test_an_object_is_returned_as_it_was_sent():
    raw = '{"query": "caf\\u00e9 \\ud83d\\ude00\\n\\t", "limit": 10, "tags": ["a", {"b": null}], "x": -0.5, "y": true}'
    assert parse(raw) == {"query": "café 😀\n\t", "limit": 10, "tags": ["a", {"b": None}], "x": -0.5, "y": True}


@pytest.mark.parametrize("raw", ["", " ", "\n", "{}", " {} \n"])
def test_no_text_and_an_empty_object_are_no_arguments(raw):
    assert parse(raw) == {}


@pytest.mark.parametrize("raw", ['{"a": 1', '{"a": "x', "{", '{"a":', '{"a": 1,'])
def test_truncated_json_is_refused(raw):
    assert refusal(raw).message.startswith("The arguments are not valid JSON: ")


@pytest.mark.parametrize("raw", ["nul", "{'a': 1}", '{"a": 01}', '{"a": 1} x', '{"a": 1}{}', "\ufeff{}", '{"a": "\n"}'])
def test_text_that_is_not_json_is_refused(raw):
    assert refusal(raw).message.startswith("The arguments are not valid JSON: ")


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ('"{}"', "a string"),
        ("[]", "an array"),
        ("null", "null"),
        ("true", "a boolean"),
        ("3", "a number"),
        ("3.5", "a number"),
    ],
)
def test_json_that_is_not_an_object_is_refused(raw, kind):
    assert refusal(raw).message == f"The arguments must be a JSON object, not {kind}."


@pytest.mark.parametrize("raw", ['{"a": 1, "a": 1}', '{"b": [{"a": 1, "c": 2, "a": 3}]}', '{"a": 1, "\\u0061": 2}'])
def test_a_duplicate_key_at_any_level_is_refused_by_name(raw):
    error = refusal(raw)
    assert (error.message, error.field) == ('The key "a" occurs twice in one object.', "a")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_not_a_number_and_infinity_are_refused(number):
    assert refusal(f'{{"a": {number}}}').message == f"The arguments are not valid JSON: {number} is not a JSON number."


@pytest.mark.parametrize("number", ["1e309", "-1e400", "9" * 400 + ".0"])
def test_a_float_that_overflows_is_refused(number):
    assert refusal(f'{{"a": {number}}}').message.endswith("is too large.")


@pytest.mark.parametrize("number", ["9007199254740992", "-9007199254740992", "9" * 5000, "-" + "9" * 100_000])
def test_an_integer_that_json_cannot_carry_exactly_is_refused(number):
    error = refusal(f'{{"a": {number}}}')
    assert "beyond ±9007199254740991" in error.message
    assert len(error.message) < 250


def test_the_largest_integers_are_accepted():
    assert parse('{"a": 9007199254740991, "b": -9007199254740991}') == {"a": 2**53 - 1, "b": -(2**53) + 1}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ('{"a": "x\\u0000y"}', "a"),
        ('{"tags": ["x", "\\u0000"]}', "tags.1"),
        ('{"a": {"b": "\\r"}}', "a.b"),
        ('{"a": "\\u001b[31m"}', "a"),
        ('{"a": "\\u007f"}', "a"),
        ('{"a": "\x85"}', "a"),
        ('{"a": "\\ud800"}', "a"),
        ('{"a": "\\udc00\\ud800"}', "a"),
        ('{"a": "\ud800"}', "a"),
        ('{"a\\u0000": 1}', "a\\u0000"),
        ('{"a": {"\\ud800": 1}}', "a.\\ud800"),
    ],
)
def test_control_characters_and_lone_surrogates_are_refused_where_they_are(raw, field):
    error = refusal(raw)
    assert error.field == field
    error.message.encode()


def test_nesting_is_bounded():
    assert parse('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH)
    assert refusal('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1)).message.startswith("The arguments are nest")


@pytest.mark.parametrize("raw", ["[" * 100_000, '{"a":' * 40_000, '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"])
def test_a_hundred_thousand_levels_are_refused(raw):
    assert refusal(raw).message == "The arguments are nested more than 64 levels deep."


@pytest.mark.parametrize("character", ["a", "é", "😀", "\ud800"])
def test_the_size_is_bounded_in_bytes(character):
    width = len(character.encode("utf-8", "surrogatepass"))
    raw = '{"a":"' + character * ((MAX_BYTES - 8) // width) + '"}'
    assert len(raw.encode("utf-8", "surrogatepass")) <= MAX_BYTES
    if character == "\ud800":
        assert refusal(raw).field == "a"
    else:
        assert parse(raw) == {"a": raw[6:-2]}
    assert refusal(raw + " " * 10).message == "The arguments are larger than 262,144 bytes; send less."


def test_ten_megabytes_are_refused():
    assert (
        refusal('{"a":"' + "x" * 10_000_000 + '"}').message == "The arguments are larger than 262,144 bytes; send less."
    )


def test_a_long_key_is_cut_where_it_is_named():
    key = "k" * 10_000
    error = refusal(f'{{"{key}": 1, "{key}": 2}}')
    assert error.field == "k" * 100 + "…"
    assert len(error.message) < 200


JSON_LIKE = st.text(st.sampled_from('{}[]":,0123456789eE+-.\\/ubfnrtlas \n\x00\ud800é'), max_size=200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=15,
)


@given(st.text(st.characters()) | JSON_LIKE | VALUES.map(json.dumps) | VALUES.map(lambda v: json.dumps({"a": v})))
@example('{"a":' + "[" * (sys.getrecursionlimit() - 50))
def test_any_text_is_parsed_or_refused_and_what_is_parsed_can_be_hashed(raw):
    try:
        value = parse(raw)
    except ToolValidationError as error:
        (error.message + (error.field or "")).encode()
        if "\x00" in error.message + (error.field or ""):
            pytest.fail("a NUL would reach the database")
        return
    assert canonical(json.loads(canonical(value), parse_int=float)) == canonical(value)
