import pytest

from tools.schemas.schema import InvalidToolDeclaration, check, declare
from tools.schemas.violations import Violation

OPEN = {"type": "object", "additionalProperties": False}


def schema(**properties):
    return {**OPEN, "properties": properties}


TASK = {
    **schema(
        title={"type": "string", "minLength": 1, "maxLength": 500},
        limit={"type": "integer", "minimum": 1, "maximum": 100},
        priority={"enum": ["low", "medium", "high"]},
        tags={"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 4, "uniqueItems": True},
        due={"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        place={**schema(city={"type": "string"}), "required": ["city"]},
        slug={"type": "string", "pattern": "^[a-z]+$"},
    ),
    "required": ["title"],
}


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": "x"},
        {"title": "x", "limit": 10.0, "priority": "low", "tags": ["a", "b"], "due": None, "place": {"city": "y"}},
        {"title": "x", "due": "2026-02-28", "slug": "abc"},
    ],
)
def test_arguments_that_fit_are_no_violation(arguments):
    assert check(TASK, arguments) is None


@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        ({}, "title", '"title" is required.'),
        ({"title": "x", "colour": 1}, "colour", '"colour" is not a parameter of this tool.'),
        ({"title": "x", "place": {}}, "place.city", '"place.city" is required.'),
        ({"title": "x", "place": {"city": "y", "z": 1}}, "place.z", '"place.z" is not a parameter of this tool.'),
        ({"title": 5}, "title", '"title" must be a string, not 5.'),
        ({"title": None}, "title", '"title" must be a string, not null.'),
        ({"title": {"a": 1}}, "title", '"title" must be a string, not an object of 1.'),
        ({"title": ""}, "title", '"title" must have at least 1 characters.'),
        ({"title": "x" * 501}, "title", '"title" must have at most 500 characters.'),
        ({"title": "x", "limit": "10"}, "limit", '"limit" must be an integer, not "10".'),
        ({"title": "x", "limit": True}, "limit", '"limit" must be an integer, not true.'),
        ({"title": "x", "limit": 1.5}, "limit", '"limit" must be an integer, not 1.5.'),
        ({"title": "x", "limit": 101}, "limit", '"limit" must be at most 100, not 101.'),
        (
            {"title": "x", "priority": "now"},
            "priority",
            '"priority" must be one of "low", "medium", "high", not "now".',
        ),
        ({"title": "x", "tags": "a"}, "tags", '"tags" must be an array, not "a".'),
        ({"title": "x", "tags": ["a", 1]}, "tags.1", '"tags.1" must be a string, not 1.'),
        ({"title": "x", "tags": ["a", "a"]}, "tags", '"tags" must not hold the same item twice.'),
        ({"title": "x", "tags": list("abcde")}, "tags", '"tags" must have at most 4 items.'),
        ({"title": "x", "due": "soon"}, "due", '"due" must be a valid date, not "soon".'),
        ({"title": "x", "due": 5}, "due", '"due" must be a valid date or null, not 5.'),
        ({"title": "x", "slug": "abc\n"}, "slug", '"slug" must match the pattern ^[a-z]+$.'),
    ],
)
def test_a_violation_names_the_field_and_what_was_expected(arguments, field, message):
    assert check(TASK, arguments) == Violation(message, field)


def test_a_violation_of_the_whole_has_no_field():
    parameters = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}
    assert check(parameters, {}) == Violation("The arguments must have at least 1 properties.", None)


def test_a_long_value_or_name_is_not_echoed_whole():
    value = check(TASK, {"title": "x", "limit": "y" * 10_000})
    assert value.message == '"limit" must be an integer, not "' + "y" * 99 + "…."
    name = check(TASK, {"title": "x", "z" * 10_000: 1})
    assert name.field == "z" * 100 + "…"
    assert len(name.message) < 200


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2026-02-28", ["2026-02-30", "2026-2-28", "20260228", "2026-02-28\n", "2026-02-28T10:00:00Z"]),
        ("date-time", "2026-02-28T10:00:00.5+02:00", ["2026-02-28T10:00:00", "2026-02-28", "2026-02-28T25:00:00Z"]),
        ("date-time-local", "2026-02-28T10:00", ["2026-02-28T10:00:00Z", "2026-02-30T10:00", "2026-02-28 10:00"]),
        ("email", "alice@example.org", ["alice", "@example.org", "a@b@c", "a b@example.org", "alice@example.org\n"]),
        ("uri", "https://example.org/a?b=c", ["example.org", "//example.org", "https://exa mple.org"]),
        ("uuid", "12345678-1234-1234-1234-123456789abc", ["12345678123412341234123456789abc", "x"]),
        ("ipv4", "192.0.2.1", ["192.0.2", "0x7f.1", "192.0.2.1\n"]),
        ("ipv6", "2001:db8::1", ["2001:db8", "192.0.2.1"]),
        ("time", "10:00:00Z", ["10:00", "25:00:00Z"]),
        ("duration", "P1D", ["1 day"]),
        ("hostname", "a.example.org", ["-a.example", "a b"]),
    ],
)
def test_formats_are_asserted(name, good, bad):
    parameters = schema(value={"type": "string", "format": name})
    assert check(parameters, {"value": good}) is None
    for value in bad:
        assert check(parameters, {"value": value}).field == "value", value
    assert check(schema(value={"format": name}), {"value": 5}) is None


def test_an_unknown_format_says_nothing():
    assert check(schema(value={"type": "string", "format": "colour"}), {"value": "x"}) is None


def test_a_number_and_a_boolean_are_not_the_same_item():
    parameters = schema(items={"type": "array", "uniqueItems": True})
    assert check(parameters, {"items": [1, True, "1", [1], {"a": 1}]}) is None
    assert check(parameters, {"items": [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]}).field == "items"


def test_a_schema_that_is_changed_later_is_checked_as_it_is_now():
    parameters = schema(a={"type": "string"})
    assert check(parameters, {"a": "x"}) is None
    parameters["properties"]["a"]["type"] = "integer"
    assert check(parameters, {"a": "x"}).field == "a"


def test_a_schema_that_names_its_dialect_and_refers_to_itself_is_checked_as_strictly():
    parameters = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema(child={"$ref": "#"}, slug={"type": "string", "pattern": "^[a-z]+$"}),
    }
    declare(parameters)
    assert check(parameters, {"child": {"child": {"slug": "abc"}}}) is None
    assert check(parameters, {"child": {"child": {"slug": "abc\n"}}}).field == "child.child.slug"


def test_a_remote_reference_is_never_fetched(monkeypatch):
    fetched = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *args, **kwargs: fetched.append(args))
    parameters = schema(a={"$ref": "http://127.0.0.1/secret"})
    with pytest.raises(InvalidToolDeclaration):
        declare(parameters)
    assert check(parameters, {"a": 1}).field is None
    assert fetched == []


def test_pattern_properties_take_the_names_that_match():
    parameters = {**OPEN, "patternProperties": {"^x-": {"type": "integer"}}}
    assert check(parameters, {"x-a": 1}) is None
    assert check(parameters, {"x-a": "1"}).field == "x-a"
    assert check(parameters, {"y-a": 1}) == Violation('"y-a" is not a parameter of this tool.', "y-a")


@pytest.mark.parametrize(
    "parameters",
    [
        TASK,
        OPEN,
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **OPEN},
        {**OPEN, "$defs": {"n": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
        {**OPEN, "$defs": {"a/b~": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a~1b~0"}}},
        {
            **OPEN,
            "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}},
            "properties": {"tree": {"$ref": "#/$defs/tree"}},
        },
        schema(**{"$ref": {"type": "string"}, "pattern": {"type": "string"}, "const": {"const": {"$ref": "x"}}}),
        schema(a={"type": "string", "pattern": r"^[a-z0-9]+(?:-[a-z0-9]+)*$"}),
        schema(a={"type": "string", "pattern": r"^(?:\d{1,3}\.){3}\d{1,3}$"}),
    ],
)
def test_a_sound_schema_is_declared(parameters):
    declare(parameters)


# What a percent-encoded pointer reaches, and what it would name if it were not decoded.
HIDDEN = {"b": {"const": {"$ref": "http://127.0.0.1/secret"}}, "b%2Fconst": {"type": "string"}}


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (None, '"type": "object"'),
        ([], '"type": "object"'),
        ({}, '"type": "object"'),
        ({"type": "dict", "properties": {}}, '"type": "object"'),
        ({"type": ["object", "null"], "additionalProperties": False}, '"type": "object"'),
        ({"type": "object"}, "additionalProperties"),
        ({"type": "object", "additionalProperties": True}, "additionalProperties"),
        ({"type": "object", "additionalProperties": {}}, "additionalProperties"),
        (schema(a={"type": "dict"}), "not valid at properties/a/type"),
        (schema(a={"type": "float"}), "not valid at properties/a/type"),
        (schema(a={"type": "tuple", "items": {"type": "any"}}), "not valid at properties/a"),
        (schema(a={"type": "array", "items": [{"type": "string"}]}), "not valid at properties/a/items"),
        (schema(a="string"), "not valid at properties/a"),
        ({**OPEN, "properties": []}, "not valid at properties"),
        ({**OPEN, "required": "a"}, "not valid at required"),
        ({**OPEN, "required": ["a", "a"]}, "not valid at required"),
        (schema(a={"minimum": "1"}), "not valid at properties/a/minimum"),
        (schema(a={"type": "string", "enum": {"a": 1}}), "not valid at properties/a/enum"),
        (schema(a={"default": float("nan")}), "not JSON"),
        (schema(a={"maximum": 10**400}), "not JSON"),
        (schema(a={"description": "\ud800"}), "not JSON"),
        (schema(a={"enum": [object()]}), "not JSON"),
        (schema(**{f"p{i}": {"description": "x" * 100} for i in range(1000)}), "bytes; at most"),
        ({**OPEN, "$schema": "http://json-schema.org/draft-07/schema#"}, "Draft 2020-12"),
        (schema(a={"$schema": "https://json-schema.org/draft/2020-12/schema"}), "$schema"),
        (schema(a={"$id": "http://example.org/a"}), "$id"),
        (schema(a={"$dynamicRef": "#a"}), "$dynamicRef"),
        ({**OPEN, "unevaluatedProperties": False}, "unevaluatedProperties"),
        (schema(a={"$ref": "http://127.0.0.1/secret"}), "not local"),
        (schema(a={"$ref": "file:///etc/passwd"}), "not local"),
        (schema(a={"$ref": "other.json"}), "not local"),
        (schema(a={"$ref": "#name"}), "not local"),
        (schema(a={"$ref": "#/$defs/missing"}), "names nothing"),
        ({**OPEN, "$defs": {"a": {"enum": [1]}}, "$ref": "#/$defs/a/enum"}, "does not name a schema"),
        ({**OPEN, "$ref": "#"}, "refers to itself"),
        ({**OPEN, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, "refers to itself"),
        ({**schema(a={"$ref": "#/$defs/b%2Fconst"}), "$defs": HIDDEN}, "$ref 'http://127.0.0.1/secret' is not local"),
        ({**schema(a={"$ref": "#/$defs/%62"}), "$defs": {"b": {"$ref": "#/$defs/b"}}}, "refers to itself"),
        ({**schema(a={"$ref": "#/$defs/%ff"}), "$defs": {"%ff": {}}}, "names nothing"),
        (schema(a={"pattern": "("}), "pattern"),
        (schema(a={"pattern": "(?=a)(a+)+$"}), "exponential"),
        ({**OPEN, "patternProperties": {"(?!b)(a|aa)*$": {}}}, "exponential"),
        (schema(a={"const": {}, "not": {"pattern": r"(a)\1"}}), "refers back"),
    ],
)
def test_a_schema_that_is_not_sound_is_refused_with_its_reason(parameters, reason):
    with pytest.raises(InvalidToolDeclaration, match=".") as caught:
        declare(parameters)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 500
