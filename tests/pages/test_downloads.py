"""The history as a file: which calls are in it, exactly, and nothing that a spreadsheet would run."""

import asyncio
import csv
import io
import json
import os
import random
import signal
import threading
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from audit.calls.ledger import moment
from audit.history.exports import batches, pages
from audit.history.exports.batches import Batch, Wanted, next_batch
from audit.history.exports.formats import COLUMNS, LONGEST_CELL, NUMBERS, safe
from audit.history.exports.pages import BATCH, FIRST
from audit.history.exports.process import ExportFailed, ExportProcess
from audit.history.filters import Chosen
from audit.templatetags.audit_text import BLANK, UNSEEN, visible
from audit.templatetags.history_tags import outcome_words
from tenants.scope import jsonb
from tests.database import rows
from tests.pages.call_rows import row, signed_in
from tests.people import Cast, Person
from tests.waiting import PATIENCE_SECONDS


def _exported(person: Person, address: str) -> tuple[Any, str]:
    answer = signed_in(person).get(address)
    assert answer.status_code == 200

    async def collected() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return answer, asyncio.run(collected()).decode()


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_jsonl_has_each_call_whole_and_exactly_as_it_is(tenant: Cast) -> None:
    value = {"title": "=1+1", "content": "\u202ea\u200b\n", "n": [1, 2.5, None]}
    call = row(tenant.alice, input=value, output={"text": "x" * 100_000}, output_bytes=100_010, params_hash="ab")
    answer, text = _exported(tenant.alice, "/history/export.jsonl")
    [found] = _lines(text)
    assert (found["id"], found["arguments"], found["output"]) == (str(call), value, {"text": "x" * 100_000})
    assert (found["person"], found["outcome"], found["params_hash"]) == (tenant.alice.username, "Done", "ab")
    assert "row_key" not in found
    assert answer["Content-Type"] == "application/jsonl; charset=utf-8"
    assert answer["Content-Disposition"].startswith(f'attachment; filename="toolgate-history-{tenant.slug}-20')
    assert answer["Cache-Control"] == "no-store"


def test_a_file_has_the_calls_that_the_filters_leave_over_across_batches(tenant: Cast) -> None:
    made = [row(tenant.alice) for _ in range(FIRST + 5)]
    other = row(tenant.alice, tool_name="save_note")
    row(tenant.bob)
    found = [each["id"] for each in _lines(_exported(tenant.alice, "/history/export.jsonl")[1])]
    assert found == [str(other), *(str(call) for call in reversed(made))]
    narrowed = _lines(_exported(tenant.alice, "/history/export.jsonl?tool=save_note")[1])
    assert [each["id"] for each in narrowed] == [str(other)]


def test_csv_is_for_spreadsheets(tenant: Cast) -> None:
    row(tenant.alice, tool_name="=HYPERLINK(1)", display='+49, "quoted"\r\n-2', input={"a": 1}, execution_time_ms=12)
    answer, text = _exported(tenant.alice, "/history/export.csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert text.startswith('\ufeff"id","created_at",')
    # Numbers stand without quotes, and stay numbers.
    assert ",12," in text
    [found] = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    assert found["tool"] == "'=HYPERLINK(1)"
    assert found["display"] == "'+49, \"quoted\"‹U+000D›\n'-2"
    assert (found["arguments"], found["erased"], found["error_code"]) == ('{"a": 1}', "no", "")


@pytest.mark.parametrize(
    "text",
    [
        *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "|calc", "%1", "＝1", "＋1", "－1", "＠x"),
        *(" =1", '"=1', "'=1", "”=1", "\u00a0=1", "\n=1"),
    ],
)
def test_nothing_begins_a_formula(text: str) -> None:
    for line in safe(f"{text}\nplain\n{text}").split("\n"):
        assert line in ("plain", "") or line.startswith(("'", "‹")), line


def test_plain_text_stays_as_it_is_and_a_long_one_is_cut() -> None:
    for text in ("", "Milk", "a=b", "1-2", "e-mail to bob@example.com", '{"a": "=1"}', "Grüße\nfrom 日本"):
        assert safe(text) == text
    cut = safe("x" * (LONGEST_CELL + 1))
    assert cut.startswith("x" * LONGEST_CELL + "…") and len(cut) < 32_767
    assert safe("x" * LONGEST_CELL) == "x" * LONGEST_CELL


def test_large_values_are_not_held_together_and_nothing_is_left_out(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_BYTES", 50_000)
    sizes = [10, 30_000, 60_000, 20_000, 10, 20_000, 20_000]
    made = [row(tenant.alice, output={"text": "x" * size}, output_bytes=size + 12) for size in sizes]
    parts: list[Batch] = []
    while not parts or parts[-1].before is not None:
        before = parts[-1].before if parts else None
        parts.append(next_batch(Wanted(tenant.alice.principal, Chosen({}), "jsonl", before, BATCH)))
    found = [json.loads(line) for part in parts for line in part.part.splitlines()]
    assert [line["id"] for line in found] == [str(call) for call in reversed(made)]
    assert [len(line["output"]["text"]) for line in found] == sizes[::-1]
    # The newest two large ones, less than the bound together; the next one; the largest by itself; the rest.
    assert [part.before for part in parts] == [made[4], made[3], made[2], None]


def test_an_input_that_is_stored_compressed_counts_as_long_as_it_is(tenant: Cast) -> None:
    row(tenant.alice, input={"text": "x" * 200_000}, output=None)
    wanted = Wanted(tenant.alice.principal, Chosen({}), "jsonl", None, 10)
    with batches._reading(wanted.principal):
        [found] = batches._found(wanted)
    assert found[-1] == 200_012
    assert "x" * 200_000 in next_batch(wanted).part.decode()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | dict | list):
        return value
    return moment(value) if hasattr(value, "astimezone") else str(value)


def _expected(call: dict[str, Any], username: str) -> dict[str, Any]:
    """A call's line, each value parsed and written again."""
    given = dict(call)
    for name in ("input", "approved_input", "output", "side_effects", "decision", "resumed_decision"):
        given[name] = None if call[name] is None else jsonb.loads(call[name])
    erased = call["row_key"] is None and call["status"] in ("success", "error")
    given |= {"person": username, "tool": call["tool_name"], "approved_arguments": given["approved_input"],
              "arguments": given["input"] if call["input_raw"] is None else call["input_raw"], "erased": erased,
              "outcome": outcome_words(SimpleNamespace(**call, erased=erased))}  # fmt: skip
    return {name: _plain(given[name]) for name in COLUMNS}


def _csv(line: dict[str, Any]) -> str:
    def cell(value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return safe(text)

    out = io.StringIO()
    cells = [line[name] if name in NUMBERS else cell(line[name]) for name in COLUMNS]
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC).writerow(["" if each is None else each for each in cells])
    return out.getvalue()


VALUES: list[Any] = [
    {}, {"a": [1, 2, {"b": None}]}, "text", '="x"', 12, -1, 1.5, 1e300, 2**53 + 1, 10**300, 1e-7, 0.1, True, None,
    {"n": [1.0, 100000000000000000000, 0.30000000000000004, -0.0]}, {"digits": "1234567890123456789", "v": "1.0.3"},
    {"é": "日本 ‮​", "line": "a\nb\t\x1b\x7f \" \\ / <", "emoji": "👩‍👩‍👧"}, [], [[]], {"z": 1, "aa": 2, "b": 3},
]  # fmt: skip
TEXTS = ["", "0 tasks", "-1", "=1", " x", "a\n=b", 'say "hi"', "Grüße", "​", " ", "x,y;z", "'", "\x7f", "a\r\n|b"]


def _calls(tenant: Cast) -> None:
    chosen = random.Random(5)
    for number in range(150):
        text, value = TEXTS[number % len(TEXTS)], VALUES[number % len(VALUES)]
        status = chosen.choice(["success", "error", "queued", "awaiting_approval"])
        row(
            tenant.alice if number % 2 else tenant.bob, input=value, output=chosen.choice(VALUES), display=text,
            status=status, error_code=chosen.choice(["timeout", "made_up"]) if status == "error" else None,
            error_message=chosen.choice([None, *TEXTS]), tool_name=chosen.choice(["save_note", *TEXTS[1:]]),
            input_raw=chosen.choice([None, None, text]), approved_input=chosen.choice(VALUES),
            decision=[{"gate": "schema", "ok": True, "log": chosen.choice(TEXTS)}], turn=number or 1,
            row_key=chosen.choice([b"k" * 32, None]), execution_time_ms=chosen.choice([None, 0, 12]),
        )  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_is_written_without_being_parsed_is_what_parsing_and_writing_makes(tenant: Cast, form: str) -> None:
    _calls(tenant)
    texts = ", ".join(
        f"{name}::text AS {name}"
        for name in ("input", "approved_input", "output", "side_effects", "decision", "resumed_decision")
    )
    found = rows(
        f"SELECT c.*, {texts}, username FROM tool_calls c JOIN users u ON u.id = c.user_id"
        " WHERE tenant_id = %(tenant)s ORDER BY c.id DESC",
        tenant=tenant.id,
    )
    lines = [_expected(call, call["username"]) for call in found]
    if form == "csv":
        expected = "\ufeff" + ",".join(f'"{name}"' for name in COLUMNS) + "\r\n" + "".join(map(_csv, lines))
    else:
        expected = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    written = _exported(tenant.dana, f"/history/export.{form}")[1]
    for one, other in zip(written.splitlines(), expected.splitlines(), strict=True):
        assert one == other
    assert written == expected


def test_what_is_visible_is_told_at_once_as_character_by_character() -> None:
    odd = [chr(code) for code in range(0x110000) if BLANK.match(chr(code)) or unicodedata.category(chr(code)) in UNSEEN]
    hidden = set(odd) - {"\n", "\t"}
    assert len(hidden) > 1000
    for code in range(0x110000):
        char = chr(code)
        assert (visible(char) == char) is (char not in hidden), hex(code)


def _process_of(monkeypatch: pytest.MonkeyPatch, **given: Any) -> ExportProcess:
    process = ExportProcess(**given)
    monkeypatch.setattr(pages, "PROCESS", process)
    return process


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExportProcess]:
    made = _process_of(monkeypatch)
    yield made
    made.end()


def test_a_short_download_needs_no_process_and_a_long_one_is_written_by_another(
    tenant: Cast, process: ExportProcess
) -> None:
    for _ in range(FIRST - 1):
        row(tenant.alice)
    assert len(_lines(_exported(tenant.alice, "/history/export.jsonl")[1])) == FIRST - 1
    assert process.pid is None
    row(tenant.alice)
    row(tenant.alice)
    assert len(_lines(_exported(tenant.alice, "/history/export.jsonl")[1])) == FIRST + 1
    assert process.pid not in (None, os.getpid())


def test_several_downloads_at_once_share_the_process(tenant: Cast, other_tenant: Cast, process: ExportProcess) -> None:
    for person in (tenant.alice, other_tenant.alice):
        for _ in range(FIRST + 3):
            row(person)
    clients = [tenant.alice, other_tenant.alice] * 2
    with ThreadPoolExecutor(len(clients)) as threads:
        texts = list(threads.map(lambda person: _exported(person, "/history/export.jsonl")[1], clients))
    for person, text in zip(clients, texts, strict=True):
        assert {line["person"] for line in _lines(text)} == {person.username}
        assert len(_lines(text)) == FIRST + 3


def test_a_download_whose_process_dies_breaks_off_and_the_next_one_is_whole(
    tenant: Cast, process: ExportProcess
) -> None:
    for _ in range(FIRST + 1):
        row(tenant.alice)
    assert len(_lines(_exported(tenant.alice, "/history/export.jsonl")[1])) == FIRST + 1
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(ExportFailed):
        _exported(tenant.alice, "/history/export.jsonl")
    assert len(_lines(_exported(tenant.alice, "/history/export.jsonl")[1])) == FIRST + 1


def test_what_goes_wrong_in_the_process_ends_the_download_and_not_the_process(
    tenant: Cast, process: ExportProcess
) -> None:
    for _ in range(2):
        row(tenant.alice)
    principal = tenant.alice.principal
    with pytest.raises(ExportFailed, match="KeyError: 'xlsx'"):
        process.next_batch(Wanted(principal, Chosen({}), "xlsx", None, 10))
    pid = process.pid
    assert process.next_batch(Wanted(principal, Chosen({}), "jsonl", None, 10)).part.count(b"\n") == 2
    assert process.pid == pid


def test_the_process_ends_when_it_has_nothing_to_do(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    process = _process_of(monkeypatch, idle_seconds=0.0)
    ended = threading.Event()
    end = process.end
    monkeypatch.setattr(process, "end", lambda: (end(), ended.set()))
    process.next_batch(Wanted(tenant.alice.principal, Chosen({}), "jsonl", None, 10))
    assert ended.wait(PATIENCE_SECONDS)
    assert process.pid is None


def test_an_auditors_export_has_everybodys_calls_and_is_on_record_each_time(tenant: Cast) -> None:
    row(tenant.alice)
    row(tenant.bob)
    _, text = _exported(tenant.dana, "/history/export.csv")
    assert tenant.alice.username in text and tenant.bob.username in text
    _exported(tenant.dana, f"/history/export.jsonl?user={tenant.bob.username}")
    _exported(tenant.alice, "/history/export.csv")
    found = rows("SELECT * FROM history_reads WHERE tenant_id = %(tenant)s ORDER BY id", tenant=tenant.id)
    assert [(each["reader_id"], each["user_id"], each["action"], each["filters"]) for each in found] == [
        (tenant.dana.scope.user_id, None, "export", {"form": "csv"}),
        (
            tenant.dana.scope.user_id,
            tenant.bob.scope.user_id,
            "export",
            {"form": "jsonl", "user": tenant.bob.username},
        ),
    ]


def test_there_are_two_forms_and_strangers_get_none(tenant: Cast, other_tenant: Cast) -> None:
    row(tenant.alice)
    assert signed_in(tenant.alice).get("/history/export.xlsx").status_code == 404
    assert _exported(other_tenant.dana, "/history/export.jsonl")[1] == ""
