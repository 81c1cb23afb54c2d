import struct
import uuid
from collections import OrderedDict

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from audit.canonical import MAX_DEPTH, NotCanonical, canonical, sha256_hex

INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | INTEGERS | TEXT | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)
# The values that the fast way takes.
PLAIN = st.recursive(
    st.none() | st.booleans() | INTEGERS | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="ascii")), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_the_fast_way_writes_the_same_bytes_as_rfc_8785(value):
    assert canonical(value) == rfc8785.dumps(value)


@given(JSON)
def test_every_json_value_has_the_bytes_of_rfc_8785(value):
    assert canonical(value) == rfc8785.dumps(value)


def test_the_rfcs_own_example_has_the_rfcs_bytes():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical(value) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_their_utf_16_code_units():
    value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    order = ["\\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    places = [canonical(value).decode().index(f'"{key}":') for key in order]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", b"0"),
        ("8000000000000000", b"0"),
        ("0000000000000001", b"5e-324"),
        ("7fefffffffffffff", b"1.7976931348623157e+308"),
        ("4340000000000000", b"9007199254740992"),
        ("4430000000000000", b"295147905179352830000"),
        ("444b1ae4d6e2ef4f", b"999999999999999900000"),
        ("444b1ae4d6e2ef50", b"1e+21"),
        ("3eb0c6f7a0b5ed8d", b"0.000001"),
        ("3eb0c6f7a0b5ed8c", b"9.999999999999997e-7"),
    ],
)
def test_floats_are_written_as_ecmascript_writes_them(bits, text):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == text


@pytest.mark.parametrize(
    "value",
    [
        2**53,
        -(2**53),
        10**5000,
        float("nan"),
        float("inf"),
        -float("inf"),
        "\ud800",
        {"\udfff": 1},
        {1: "a"},
        {None: "a"},
        {b"a": "a"},
        b"bytes",
        {1, 2},
        uuid.UUID(int=1),
        object(),
        {"a": [1.5, {"b": uuid.UUID(int=1)}]},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_rfc_8785_cannot_carry_is_not_canonical(value):
    with pytest.raises(NotCanonical):
        canonical({"value": value})
    with pytest.raises(NotCanonical):
        sha256_hex(value)


def test_the_largest_integers_are_carried():
    assert canonical([2**53 - 1, -(2**53) + 1]) == b"[9007199254740991,-9007199254740991]"


def nested(levels, inner):
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize("inner", [1, 1.5, {"é": 1}])
def test_nesting_is_bounded_and_never_overflows_the_stack(inner):
    deepest = MAX_DEPTH - (1 if isinstance(inner, dict) else 0)
    assert canonical(nested(deepest, inner)).startswith(b"[" * deepest)
    with pytest.raises(NotCanonical, match="nested"):
        canonical(nested(deepest + 1, inner))
    with pytest.raises(NotCanonical, match="nested"):
        canonical(nested(100_000, inner))


def test_a_list_that_holds_itself_is_not_canonical():
    value = []
    value.extend([value, value])
    with pytest.raises(NotCanonical, match="nested"):
        canonical(value)


def test_the_hash_does_not_depend_on_the_order_of_keys_or_the_kind_of_container():
    assert sha256_hex({"b": [1, 2], "a": 1.0}) == sha256_hex(OrderedDict(a=1, b=(1, 2)))


def test_the_hash_is_hexadecimal_sha_256_of_the_bytes():
    assert sha256_hex({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
