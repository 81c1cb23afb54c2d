import time

import pytest

from tools.patterns import UnsafePattern, compiled, matches


def test_the_end_of_the_subject_is_not_before_a_trailing_newline():
    assert matches("^[a-z]+$", "abc") is True
    assert matches("^[a-z]+$", "abc\n") is False


def test_a_dollar_that_is_escaped_or_in_a_class_is_a_dollar():
    assert matches(r"^\$[$]$", "$$") is True


def test_classes_are_ascii_as_in_ecma_262():
    assert matches(r"^\d$", "٣") is False
    assert matches(r"^\w$", "é") is False


def test_a_pattern_matches_anywhere_unless_anchored():
    assert matches("b", "abc") is True
    assert matches("^b", "abc") is False


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a*)*b",
        "(a|aa)*$",
        "((a|b)c)*",
        "(((a+)b)+)*",
        "^(?:-[-a-z]+)*$",
        "(?:-[a-z]+.)*",
        "(.*,)*x",
        "(a?){20}a{20}",
        "([a-z]{1,30}){1,30}!",
    ],
)
def test_a_pattern_that_can_take_exponential_time_is_refused(pattern):
    with pytest.raises(UnsafePattern, match="exponential"):
        compiled(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "\\", "*a", "a**", r"(a)\1", "(?i)a", "(?<=a)b", "(?P<n>a)(?P=n)", "(?#c)a", "[]a]", "a{,3}", r"\p{L}"]
    + ["(?(1)a|b)", "(?>a)", "x{99999}{99999}", "a" * 513],
)
def test_a_pattern_that_is_not_ecma_262_or_means_something_else_to_python_is_refused(pattern):
    with pytest.raises(UnsafePattern):
        compiled(pattern)


@pytest.mark.parametrize(
    ("pattern", "subject"),
    [
        (r"^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-slug-of-5-words"),
        (r"^(?:[a-z]+,)*[a-z]+$", "a,list,of,words"),
        (r"^(?:\d{1,3}\.){3}\d{1,3}$", "192.0.2.1"),
        (r"^[^@\s]+@[^@\s]+\.[^@\s]+$", "a" * 200 + "@example.org"),
        (r"^\+?[0-9 ()-]{5,20}$", "+44 (0)20 7946 0000"),
        (r"^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$", "v1.20.3-rc.1"),
        (r"^#(?:[0-9a-fA-F]{3}){1,2}$", "#a1b2c3"),
        (r"^https?://\S+$", "https://example.org/" + "a" * 5000),
    ],
)
def test_the_patterns_that_schemas_really_have_are_taken(pattern, subject):
    assert matches(pattern, subject) is True


@pytest.mark.parametrize("pattern", ["a*a*b$", "^a*a*a*b$", "^a*a*a*a*b$", "a?" * 14 + "a" * 14 + "$", r"(?:a?){10}b"])
def test_the_worst_subject_that_is_tried_takes_bounded_time(pattern):
    longest = compiled(pattern).max_subject
    started = time.process_time()
    assert matches(pattern, "a" * (longest - 1) + "!") is False
    assert time.process_time() - started < 5
    assert matches(pattern, "a" * (longest + 1)) is None
