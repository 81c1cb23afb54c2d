"""Names of models and patterns of them."""

import pytest

from gateway.providers import patterns
from gateway.providers.routing import prices


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("openai/gpt-4o", "openai/gpt-4o", True),
        ("openai/gpt-4o", "openai/gpt-4o-2024-11-20", False),
        ("openai/gpt-4o", "openai/GPT-4o", False),
        ("openai/gpt-4o", "OpenAI/gpt-4o", False),
        ("openai/gpt-4o", "openai/openai/gpt-4o", False),
        ("openai/gpt-4o", "mine/openai/gpt-4o", False),
        ("openai/gpt-4o*", "openai/gpt-4o-2024-11-20", True),
        ("openai/*", "openai/meta/llama:70b", True),
        ("openai/*", "openai2/x", False),
        ("*", "anything/at-all", True),
        ("*/llama", "mine/llama", True),
        ("a/*b*b", "a/b", False),
        ("a/*b*b", "a/bb", True),
        ("a/.", "a/x", False),
        ("a/[x]", "a/x", False),
        ("a/x*x", "a/x", False),
    ],
)
def test_a_star_is_any_text_and_all_else_is_itself(pattern: str, name: str, fits: bool) -> None:
    assert patterns.matches(pattern, name) is fits


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    assert patterns.matches("*a" * 100 + "b", "a" * 5000) is False


@pytest.mark.parametrize(
    "name", ["openai/gpt\u20114o", "openai/g\u0440t", "openai/gpt 4o", "openai/gpt\t", "openai/\u202ex", ""]
)
def test_no_pattern_allows_a_name_that_is_not_plain(name: str) -> None:
    assert patterns.any_matches(["*"], name) is False


def test_what_is_said_of_the_name_itself_beats_every_pattern_and_a_longer_pattern_a_shorter() -> None:
    said = {"*": 1, "openai/*": 2, "openai/gpt-4o*": 3, "openai/gpt-4o": 4}
    assert [patterns.best(said, name) for name in ("a/b", "openai/o3", "openai/gpt-4o-mini", "openai/gpt-4o")] == [
        1,
        2,
        3,
        4,
    ]
    assert patterns.best({"openai/*": 2}, "a/b") is None


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2.50", "2.5"), (0, "0"), ("0", "0"), (1e-06, "0.000001"), ("10.000000", "10"), ("100", "100"),
        ("999999.999999", "999999.999999"),
        ("1000000", None), ("0.0000001", None), (-1, None), ("-0.1", None), ("NaN", None),
        (float("inf"), None), ("1e400", None),
        (True, None), (None, None), ("", None), ("1,5", None), ([], None), ("\u0661", "1"),
    ],
)  # fmt: skip
def test_a_price_is_a_number_of_dollars_with_up_to_six_places(given: object, stored: str | None) -> None:
    assert prices.amount(given) == stored
