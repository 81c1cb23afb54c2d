import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.schemas.patterns import backtracking, linear
from tools.schemas.patterns.ecma import UnsafePattern, compiled, matches
from tools.schemas.undecidable import Undecidable

# As long as any text that reaches a pattern.
LONG = 1024 * 1024


def test_the_end_of_the_subject_is_not_before_a_trailing_newline():
    assert matches("^[a-z]+$", "abc") is True
    assert matches("^[a-z]+$", "abc\n") is False


def test_a_dollar_that_is_escaped_or_in_a_class_is_a_dollar():
    assert matches(r"^\$[$]$", "$$") is True


def test_classes_are_ascii_as_in_ecma_262():
    assert matches(r"^\d$", "٣") is False
    assert matches(r"^\w$", "é") is False


# White space and line ends of ECMA-262, from its sections 12.2 and 12.3.
SPACES = "\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NO_SPACES = "a\x1c\x85\u180e\u200b\u2060"
# The second is for the engine that can look ahead.
BOTH_ENGINES = pytest.mark.parametrize("ahead", ["", "(?!zzz)"])


@BOTH_ENGINES
def test_white_space_is_that_of_ecma_262(ahead: str) -> None:
    for character in SPACES:
        assert matches(rf"^{ahead}a\sb$", f"a{character}b") is True, repr(character)
        assert matches(rf"^{ahead}a[\s,]b$", f"a{character}b") is True, repr(character)
        assert matches(rf"^{ahead}\S$", character) is False, repr(character)
        assert matches(rf"^{ahead}[\S,]$", character) is False, repr(character)
        assert matches(rf"^{ahead}[^\s]$", character) is False, repr(character)
    for character in NO_SPACES:
        assert matches(rf"^{ahead}\s$", character) is False, repr(character)
        assert matches(rf"^{ahead}[\S]$", character) is True, repr(character)


@BOTH_ENGINES
def test_a_dot_is_no_line_end(ahead: str) -> None:
    for character in "\n\r\u2028\u2029":
        assert matches(f"^{ahead}a.b$", f"a{character}b") is False, repr(character)
    assert matches(f"^{ahead}a.b$", "a\x85b") is True


@pytest.mark.parametrize("pattern", [r"[!-\s]", r"[\s-a]", r"[\S-a]", r"[\x00-\s]"])
def test_a_range_that_ends_in_a_class_is_refused(pattern: str) -> None:
    with pytest.raises(UnsafePattern):
        compiled(pattern)


def test_a_repeated_group_that_white_space_could_delimit_is_not_taken_for_delimited() -> None:
    with pytest.raises(UnsafePattern, match="exponential"):
        compiled("(?=a)(?:\u00a0[a\\s]+)*!")


def test_a_pattern_matches_anywhere_unless_anchored():
    assert matches("b", "abc") is True
    assert matches("^b", "abc") is False


EXPONENTIAL = [
    "(a+)+$",
    "(a*)*b",
    "(a|aa)*!$",
    "((a|b)c)*!",
    "(((a+)b)+)*!",
    "^(?:-[-a-z]+)*$",
    "(?:-[a-z]+.)*!",
    "(.*,)*x",
    "(a?){20}a{20}!",
]


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_a_pattern_that_explodes_elsewhere_is_tried_in_linear_time(pattern):
    started = time.process_time()
    assert matches(pattern, "-a" * 100_000 + "?") is False
    assert time.process_time() - started < 5


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_one_that_also_looks_ahead_is_refused(pattern):
    with pytest.raises(UnsafePattern, match="exponential"):
        compiled("(?=a)" + pattern)


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "\\", "*a", "a**", r"(a)\1", "(?i)a", "(?<=a)b", "(?P<n>a)(?P=n)", "(?#c)a", "[]a]", "a{,3}", r"\p{L}"]
    + ["(?(1)a|b)", "(?>a)", "x{99999}{99999}", "a" * 513, "^*", "(|*)", "(?:)|+", "(" * 255 + ")" * 255],
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
        (r"^(?!\s*$).+", "  not blank"),
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", "secret-123"),
    ],
)
def test_the_patterns_that_schemas_really_have_are_taken(pattern, subject):
    assert matches(pattern, subject) is True


@pytest.mark.parametrize("pattern", ["BEGIN PRIVATE KEY", r"BEGIN\sPRIVATE", r"[^\x00]\u0045GIN", "^.*BEGIN", "GIN.*$"])
@pytest.mark.parametrize("around", [(" " * LONG, ""), ("", " " * LONG), ("é" * (LONG // 2), "é")])
def test_words_are_found_wherever_they_stand_in_a_long_text(pattern, around):
    assert matches(pattern, "BEGIN PRIVATE KEY".join(around)) is True
    assert matches(pattern, "BEGlN PRlVATE KEY".join(around)) is False


WORST = ["a*a*b$", "^a*a*a*b$", "^a*a*a*a*b$", "a?" * 14 + "a" * 14 + "$", r"(?:a?){10}b"]


@pytest.mark.parametrize("pattern", WORST)
def test_the_worst_subject_of_a_pattern_that_looks_ahead_takes_bounded_time_and_a_longer_one_no_answer(pattern):
    pattern = "(?!b)" + pattern if pattern[0] != "^" else "^(?!b)" + pattern[1:]
    longest = compiled(pattern).engine.max_subject
    started = time.process_time()
    assert matches(pattern, "a" * (longest - 1) + "!") is False
    assert time.process_time() - started < 5
    with pytest.raises(Undecidable, match=rf"is too long .* at most {longest:,} characters can be"):
        matches(pattern, "a" * (longest + 1))


def test_a_text_that_would_take_too_much_even_of_a_linear_engine_has_no_answer():
    pattern = r"(?:[^\x00]{0,30}a){30}!"
    size = compiled(pattern).engine.size
    assert size > 5_000
    with pytest.raises(Undecidable, match=rf"at most {linear.MAX_WORK // size:,} bytes can be"):
        matches(pattern, "a" * (linear.MAX_WORK // size + 1))
    assert matches(pattern, "a" * 40 + "!") is True


def test_a_text_that_utf_8_cannot_carry_has_no_answer():
    with pytest.raises(Undecidable, match="lone surrogate"):
        matches("a", "a\ud800")


@pytest.mark.parametrize(
    ("pattern", "subject"),
    [(r"^[\s]$", "\v"), (r"^\S$", "\v"), (r"^[^\S]$", "\v"), (r"^\s$", "\u00a0"), (r"^\W$", "é"), (r"^[\D]$", "٣")]
    + [(r"^.$", each) for each in ("\n", "\r", "\u2028", "\x00", "😀")]
    + [(r"^[^a]$", "\n"), (r"^[[:alpha:]]$", "b]"), (r"^[[:alpha:]]$", "b"), ("^a{2,3}?$", "aaa"), (r"^\0$", "\x00")]
    + [(r"\bé", "aé"), (r"\Bé", "aé"), (r"^[\b]$", "\b"), (r"a\Z", "a\n"), ("^a|b$", "ab"), (r"^[\]\\-]+$", "]\\-")]
    + [(r"^\ud83d$", "😀"), (r"^[\ud800-\udfff]+$", "a"), (r"^[a-\u00e9]$", "é"), ("()", ""), ("(a|)+$", "b")],
)
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_both_engines_mean_the_same(pattern, subject):
    python = backtracking.parse(pattern)
    ready = linear.compiled(python.python)
    assert ready is not None
    assert ready.matches(subject) is (python.regex.search(subject) is not None)


ATOM = st.sampled_from(
    [
        "a",
        "b",
        "é",
        ".",
        "[ab]",
        "[^a]",
        r"\d",
        r"\s",
        r"\w",
        r"\W",
        r"\b",
        "^",
        "$",
        r"\n",
        r"\u00e9",
        r"\x41",
        "-",
        r"\.",
    ]
)
SMALL = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?"])).map("({0[0]}){0[1]}".format),
    ),
    max_leaves=6,
)


@given(SMALL, st.text(st.sampled_from("abé .-1A\n_"), max_size=8))
def test_both_engines_mean_the_same_by_any_pattern(pattern, subject):
    python = backtracking.parse(pattern)
    ready = linear.compiled(python.python)
    assert ready is not None
    assert ready.matches(subject) is (python.regex.search(subject) is not None), (pattern, subject)


def test_what_python_alone_can_run_is_what_looks_ahead_or_counts_high():
    for pattern in ("(?=a)a", "(?!a)b", "^a{1001}$"):
        assert isinstance(compiled(pattern).engine, backtracking.Bounded)
