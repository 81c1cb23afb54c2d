"""The history as a file: which calls are in it, exactly, and nothing that a spreadsheet would run."""

import asyncio
import csv
import io
import json
import uuid
from typing import Any

import pytest

from audit.history.download_pages import BATCH, MOST_BYTES, _parts
from audit.history.downloads import LONGEST_CELL, safe
from tests.database import rows
from tests.pages.call_rows import row, signed_in
from tests.people import Cast, Person


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
    made = [row(tenant.alice) for _ in range(BATCH + 5)]
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


def test_large_outputs_are_not_held_together() -> None:
    ids = [uuid.uuid4() for _ in range(5)]
    sizes = [1, MOST_BYTES, 2 * MOST_BYTES, MOST_BYTES // 2, MOST_BYTES // 2]
    assert _parts(list(zip(ids, sizes, strict=True))) == [[ids[0]], [ids[1]], [ids[2]], ids[3:]]


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
