"""Aliases of names that nobody would think of."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.providers.translation.names import Names, safe_name

RULES = {
    "openai": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "anthropic": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "gemini": re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
}
ALPHABETS = [
    "ab",
    "ab._-",
    "abcXYZ019_-",
    "0123456789-.",
    "a.b/c:d e",
    "aаbеéßIıﬁ漢𝒳\u200b\u202e\ud800",
    "".join(map(chr, range(0x20, 0x250))),
]
AWKWARD = st.text(st.sampled_from("ab01_-. \u0430\u00e9\ud800"), max_size=70)


def test_ten_thousand_random_names_are_accepted_told_apart_and_found_again() -> None:
    chance = random.Random(8726)
    names: set[str] = set()
    while len(names) < 10_000:
        length = chance.choice((1, 2, 3, 8, 20, 63, 64, 65, 200))
        names.add("".join(chance.choices(chance.choice(ALPHABETS), k=length)))
    tools = sorted(names)
    aliases = Names(tools)
    shown = [aliases.alias(name) for name in tools]
    for rule in RULES.values():
        assert [alias for alias in shown if not rule.fullmatch(alias)] == []
    assert len(set(shown)) == len(tools)
    assert [aliases.real(alias) for alias in shown] == tools
    chance.shuffle(tools)
    again = Names(tools)
    assert [again.alias(name) for name in sorted(tools)] == shown


@given(st.lists(AWKWARD, unique=True, max_size=12))
def test_few_awkward_names_are_accepted_told_apart_and_found_again(tools: list[str]) -> None:
    names = Names(tools)
    shown = [names.alias(name) for name in tools]
    assert all(rule.fullmatch(alias) for alias in shown for rule in RULES.values())
    assert len(set(shown)) == len(tools)
    assert [names.real(alias) for alias in shown] == tools


@pytest.mark.parametrize(
    ("name", "alias"), [("3d.render", "_3d__render"), ("-x", "_-x"), ("7", "_7"), ("_7", "_7"), ("a7", "a7")]
)
def test_an_alias_begins_with_a_letter_or_an_underscore(name: str, alias: str) -> None:
    assert safe_name(name) == alias
    assert Names([name]).real(alias) == name


def test_a_name_that_another_tool_has_as_its_own_is_no_alias() -> None:
    names = Names(["7", "_7"])
    assert names.alias("_7") == "_7"
    assert names.alias("7").startswith("_7_")
    assert names.real(names.alias("7")) == "7"
