"""What becomes of an answer's body: JSON, text in the encoding that it names, or a description of what is no text."""

from typing import Any

import pytest

from services.execution import answers
from tools.errors import ToolCallRejected
from tools.network.egress import Answer


def output(body: bytes, kind: str, status: int = 200) -> Any:
    """The output of a call that was answered so."""
    return answers.output("desk.get", Answer(status, body, kind=kind), {"Authorization": "Bearer sécret"})


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        ("text/plain; charset=ISO-8859-1", "latin-1"),
        ('text/csv; header=present; charset="windows-1252"', "cp1252"),
        ("application/json;charset=utf-16", "utf-16"),
        ("text/plain; charset=Shift_JIS", "shift_jis"),
    ],
)
def test_a_text_is_read_in_the_encoding_that_it_names(kind: str, encoding: str) -> None:
    words = "日本" if encoding == "shift_jis" else "Grüße"
    assert output(words.encode(encoding), kind) == words


@pytest.mark.parametrize("kind", ["text/plain; charset=punycode", "text/plain; charset=", "text/plain", ""])
def test_any_other_encoding_is_taken_for_utf_8(kind: str) -> None:
    assert output("Grüße".encode(), kind) == "Grüße"


def test_a_credential_is_taken_out_in_whatever_encoding_it_is_repeated() -> None:
    assert output("you are sécret".encode("latin-1"), "text/plain; charset=latin-1; charset=iso-8859-1") == (
        "you are [credential]"
    )


@pytest.mark.parametrize(
    "kind",
    [
        "image/png", "audio/ogg", "video/mp4", "font/woff2", "application/pdf", "application/octet-stream",
        "application/zip; name=a.zip", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ],
)  # fmt: skip
def test_a_file_is_described_and_not_passed_on(kind: str) -> None:
    found = output(b"\x89PNG\r\n\x1a\n\x00\x01", kind)
    assert found == {
        "status": 200,
        "content_type": kind.partition(";")[0],
        "bytes": 10,
        "note": "The answer is a file and no text, so it is not passed on.",
    }


def test_a_large_file_says_that_there_is_more_of_it() -> None:
    found = output(b"\0" * (answers.MAX_BYTES + 1), "image/png")
    assert (found["bytes"], found["more"]) == (answers.MAX_BYTES, True)


@pytest.mark.parametrize("kind", ["image/svg+xml", "application/xml", "text/html", "application/x-ndjson"])
def test_what_is_text_is_passed_on_whatever_it_is_called(kind: str) -> None:
    assert output(b"<svg/>", kind) == "<svg/>"


def test_an_answer_without_a_body_is_its_status_and_a_refusal_keeps_its_words() -> None:
    assert output(b"", "image/png", 204) == {"status": 204}
    with pytest.raises(ToolCallRejected, match="Größe"):
        output("Größe fehlt".encode("latin-1"), "text/plain; charset=iso-8859-1", 422)
