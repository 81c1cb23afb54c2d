"""What an approver reads is all there is: nothing is pushed out of sight, and no mark can be forged."""

import json

import pytest
from django.utils.html import strip_tags

from audit.templatetags.exact_text import MOST_BLANKS, as_typed, changes, exact, exact_json, fields


def mark(words: str) -> str:
    """A blank that is spelled out."""
    return f'<span class="spelled">‹{words}›</span>'


LINE_END = '<span class="spelled line-end">↵</span>\n'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("", ""),
        ("<script>alert(1)</script>&", "&lt;script&gt;alert(1)&lt;/script&gt;&amp;"),
        ("a\nb", f"a{LINE_END}b"),
        ("a" + " " * 5000 + "rm", f"a{mark('5,000 spaces')}rm"),
        ("a" + " " * MOST_BLANKS + "b", "a" + " " * MOST_BLANKS + "b"),
        ("a" + "\n" * 40 + "b", f"a{mark('40 line breaks')}\nb"),
        ("a" + " \n" * 30 + "b", f"a{mark('30 spaces, 30 line breaks')}\nb"),
        ("a" + "\t" * 20 + "b", f"a{mark('20 tabs')}b"),
        ("a" + "\u3000" * 20 + "b", f"a{mark('U+3000 × 20')}b"),
        ("a" + "\u3164" * 400 + "b", f"a{mark('U+3164 × 400')}b"),
        ("a\u2800b", f"a{mark('U+2800')}b"),
        ("\u202egnp.exe", f"{mark('U+202E')}gnp.exe"),
        ("pay\U000e0031\ufe0f", f"pay{mark('U+E0031')}\ufe0f"),
        (" a@example.com ", f"{mark('1 space')}a@example.com{mark('1 space')}"),
        ("‹5,000 spaces›", "‹5,000 spaces›"),
        ("日本 Ελληνικά\u00a0é", "日本 Ελληνικά\u00a0é"),
    ],
)
def test_blanks_that_could_hide_something_are_spelled_out(text: str, shown: str) -> None:
    assert exact(text) == shown


def test_a_newline_in_a_nested_text_or_name_begins_no_line() -> None:
    shown = exact_json({"a\nb": ["x\ny"]})
    newline = '<span class="spelled">↵</span>'
    assert shown == f"{{\n  &quot;a{newline}b&quot;: [\n    &quot;x{newline}y&quot;\n  ]\n}}"


def test_arguments_are_shown_one_by_one_with_their_kinds() -> None:
    arguments = {"to": "a@example.com", "body": "one\ntwo", "n": 5, "yes": True, "none": None, "tags": [1], "empty": ""}
    assert [(field.name, field.kind) for field in fields(arguments)] == [
        ("to", "text, 13 characters"),
        ("body", "text, 7 characters, 2 lines"),
        ("n", "number"),
        ("yes", "yes or no"),
        ("none", "nothing"),
        ("tags", "list of 1"),
        ("empty", "empty text"),
    ]


def test_of_a_long_text_everything_is_shown_and_its_end_beside_it() -> None:
    text = "word " * 20_000 + "rm -rf /"
    [field] = fields({"body": text})
    assert strip_tags(field.shown) == text
    assert field.end is not None and field.end.endswith("rm -rf /")


def test_text_that_runs_right_to_left_is_said_to() -> None:
    [field] = fields({"to": "שלום 100"})
    assert "right to left" in field.kind


def test_what_cannot_be_seen_survives_being_edited() -> None:
    value = {"a": "x\u202ey\u3164\n", "b": "ü"}
    typed = as_typed(value)
    assert "\\u202e" in typed and "\\u3164" in typed and "ü" in typed
    assert json.loads(typed) == value


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("send 200 units", "send 150 units", "send <del>200</del><ins>150</ins> units"),
        ("a b", "a b c", "a <del>b</del><ins>b c</ins>"),
        ("aa", "aaa", "<del>aa</del><ins>aaa</ins>"),
        ("x", "", "<del>x</del><ins></ins>"),
        ("one two", "one  two", f"one <del>two</del><ins>{mark('1 space')}two</ins>"),
    ],
)
def test_a_change_of_a_text_is_shown_in_whole_words(before: str, after: str, shown: str) -> None:
    [change] = changes([{"op": "replace", "path": "/body", "before": before, "after": after}])
    assert f"{change.start}<del>{change.before}</del><ins>{change.after}</ins>{change.rest}" == shown


def test_other_changes_are_shown_whole() -> None:
    edit = [
        {"op": "add", "path": "/tags", "after": ["<b>"]},
        {"op": "remove", "path": "/cc", "before": "x"},
        {"op": "replace", "path": "", "before": 1, "after": True},
    ]
    assert [(each.name, each.before, each.after) for each in changes(edit)] == [
        ("tags", None, "[\n  &quot;&lt;b&gt;&quot;\n]"),
        ("cc", "x", None),
        ("all", "1", "true"),
    ]
