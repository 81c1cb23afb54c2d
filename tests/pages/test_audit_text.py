"""Characters that hide, reorder or pretend are made visible; what people write stays as it is."""

import pytest

from audit.models import ErrorCode, Status
from audit.templatetags.audit_text import ERROR_WORDS, STATUS_WORDS, error_meaning, pretty, took, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\u202egnp.exe", "‹U+202E›gnp.exe"),
        ("\u2066a\u2069", "‹U+2066›a‹U+2069›"),
        ("de\u200blete", "de‹U+200B›lete"),
        ("\x1b[31mred\x00", "‹U+001B›[31mred‹U+0000›"),
        ("a\u2028b", "a‹U+2028›b"),
        ("\U000e0041", "‹U+E0041›"),
        ("\ud800", "‹U+D800›"),
        ("Grüße, Καλημέρα, שלום, 日本", "Grüße, Καλημέρα, שלום, 日本"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"),
        ("a\u200db", "a‹U+200D›b"),
        ("\u200d", "‹U+200D›"),
        (None, ""),
    ],
)
def test_what_hides_is_spelled_out(text: str | None, shown: str) -> None:
    assert visible(text) == shown


def test_json_is_indented_in_its_own_script_with_nothing_hidden() -> None:
    assert pretty({"ü": ["\u202e", "\x07"]}) == '{\n  "ü": [\n    "‹U+202E›",\n    "\\u0007"\n  ]\n}'


def test_every_status_and_error_has_words() -> None:
    assert set(STATUS_WORDS) == set(Status)
    assert set(ERROR_WORDS) == set(ErrorCode)
    assert error_meaning("no such code") == ""


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(None, ""), (0, "under 1 ms"), (999, "999 ms"), (1000, "1.0 s"), (59_999, "60.0 s"), (125_000, "2 min 5 s")],
)
def test_durations_are_said_as_people_say_them(milliseconds: int | None, said: str) -> None:
    assert took(milliseconds) == said
