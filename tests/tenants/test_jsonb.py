"""Reading jsonb: the fast way and the careful one read the same, and no number comes that cannot be written again."""

import json
import math
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tenants.scope import jsonb
from tests.database import rows

VALUES: list[Any] = [
    None, True, 0, -1, 12, 0.5, -2.25, 1e300, -1e-300, 2**53 - 1, 2**53, -(2**53), 10**15, 10**16 - 1, 10**17, 10**300,
    0.1 + 0.2, 123456789012345.6, 1e15, 1e16, "", "1234567890123456", "é 日本 \u202e 👩‍👩‍👧 \" \\ / \n\t\x1b\x7f",
    [], {},
    {"b": 1, "aa": [1, 1.0, {"é": None}], "": "x"}, {"digits": "9" * 40, "n": 9007199254740993},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_read_the_same_whichever_way(value: Any) -> None:
    [row] = rows("SELECT (%(text)s::jsonb)::text AS text", text=json.dumps(value))
    careful = jsonb.Decoder().decode(row["text"])
    for given in (row["text"], row["text"].encode()):
        found = jsonb.loads(given)
        assert (found, type(found)) == (careful, type(careful))
        assert json.dumps(found) == json.dumps(careful)


def test_what_is_deeper_than_the_fast_way_goes_is_read_too() -> None:
    deep = "[" * 1500 + "]" * 1500
    try:
        careful = jsonb.Decoder().decode(deep)
    except RecursionError:
        with pytest.raises(RecursionError):
            jsonb.loads(deep)
    else:
        assert json.dumps(jsonb.loads(deep[500:-500])) == json.dumps(careful)[500:-500]


def test_a_number_that_no_double_holds_is_its_digits() -> None:
    assert jsonb.loads("1" + "0" * 400) == "1" + "0" * 400
    assert math.isfinite(jsonb.loads("1" + "0" * 300))


@pytest.mark.parametrize("text", ["", "{", "nul", '{"a": 1,}', b"\xff"])
def test_what_is_no_json_is_an_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        jsonb.loads(text)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_plain_value_is_stored_as_any_other_would_be(value: Any) -> None:
    given = {"plain": jsonb.plain(value), "other": Jsonb(value)}
    [row] = rows("SELECT %(plain)s::text AS plain, %(other)s::text AS other", **given)
    assert row["plain"] == row["other"]
