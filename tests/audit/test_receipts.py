"""Receipts over REST, and what an outsider makes of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.log import keys
from audit.log.notes import Signer
from tests.audit.logs import seal_now
from tests.audit.outsiders import checked
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

Receipt = dict[str, Any]
NOTE = 'call: save_note {"title": "Milk", "content": "Two litres", "tags": ["é", "𝒳"]}'
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'
# Authentication, the scope, the call, its entries and decisions, the head, the keys, the tiles.
PIN = 9


def receipt_of(stack: Stack, person: Person, call_id: str) -> Receipt:
    answer = stack.get(person, f"/api/v1/tool-calls/{call_id}/receipt/")
    assert answer.status_code == 200, answer.text
    found: Receipt = answer.json()
    return found


def vkey() -> str:
    return keys.public_path().read_text().split()[-1]


@pytest.fixture
def receipt(stack: Stack, tenant: Cast) -> Receipt:
    """Of a call that succeeded, sealed."""
    call = stack.chat(tenant.alice, NOTE).json()["tool_calls"][0]
    seal_now()
    return receipt_of(stack, tenant.alice, call["id"])


def test_a_receipt_is_not_sealed_at_first_and_proven_later(stack: Stack, tenant: Cast, tmp_path: Path) -> None:
    call = stack.chat(tenant.alice, NOTE).json()["tool_calls"][0]
    before = receipt_of(stack, tenant.alice, call["id"])
    seal_now()
    after = receipt_of(stack, tenant.alice, call["id"])
    if not before["sealed"]:
        assert before["inclusion_proof"] is None
        code, words = checked(tmp_path, json.dumps(before), vkey())
        assert (code, words.startswith("WRONG: the receipt is not sealed yet")) == (1, True)
    assert after["sealed"]
    assert after["inclusion_proof"]["tree_size"] > max(entry["leaf_index"] for entry in after["entries"])
    assert [entry["kind"] for entry in after["entries"]] == ["proposed", "settled"]


def test_an_outsider_can_check_a_receipt(receipt: Receipt, tmp_path: Path) -> None:
    code, words = checked(tmp_path, json.dumps(receipt), vkey())
    assert code == 0, words
    assert [line.split(":")[0] for line in words.splitlines()] == ["proven"] * 3 + ["not proven"] * 2


def test_with_the_arguments_and_the_result_beside_it_those_are_checked_too(
    stack: Stack, tenant: Cast, receipt: Receipt, tmp_path: Path
) -> None:
    call = stack.get(tenant.alice, f"/api/v1/tool-calls/{receipt['call_id']}/").json()
    shown = receipt | {"input": call["input"], "output": call["output"]}
    code, words = checked(tmp_path, json.dumps(shown), vkey())
    assert (code, "proven: input\nproven: output\n" in words) == (0, True), words
    shown["input"] |= {"title": "Cheese"}
    assert checked(tmp_path, json.dumps(shown), vkey())[0] == 1


def _flipped(text: str) -> str:
    return text[:-1] + ("0" if text[-1] != "0" else "1")


def _first_entry(change: Callable[[Receipt], None]) -> Callable[[Receipt], None]:
    return lambda receipt: change(receipt["entries"][0])


def _first_proof(change: Callable[[Receipt], None]) -> Callable[[Receipt], None]:
    return lambda receipt: change(receipt["inclusion_proof"]["proofs"][0])


TAMPERED: dict[str, Callable[[Receipt], Any]] = {
    **{name: lambda receipt, name=name: receipt.update({name: _flipped(receipt[name])})
       for name in ("call_id", "params_hash", "output_hash", "commitment_key")},
    "tool": lambda receipt: receipt.update(tool="add_task"),
    "status": lambda receipt: receipt.update(status="error"),
    "latency": lambda receipt: receipt.update(latency_ms=receipt["latency_ms"] + 1),
    "side effects": lambda receipt: receipt.update(side_effects=[]),
    "decision": lambda receipt: receipt["decision"].pop(),
    "an approval": lambda receipt: receipt.update(approval={"decisions": [
        {"user_id": "x", "verdict": "approve", "reason": "", "via": "api"}]}),
    "an entry less": lambda receipt: receipt["entries"].pop(),
    "statement": _first_entry(lambda entry: entry.update(statement=entry["statement"].replace("Milk", "x") + " ")),
    "leaf": _first_entry(lambda entry: entry.update(leaf=entry["leaf"] + " ")),
    "kind": _first_entry(lambda entry: entry.update(kind="settled")),
    "proof": _first_proof(lambda proof: proof["hashes"].__setitem__(0, _flipped(proof["hashes"][0]))),
    "a longer proof": _first_proof(lambda proof: proof["hashes"].append("00" * 32)),
    "a shorter proof": _first_proof(lambda proof: proof["hashes"].pop()),
    "a proven leaf": _first_proof(lambda proof: proof.update(leaf=proof["leaf"].replace('"seq":', '"seq":1'))),
    "head": lambda receipt: receipt["inclusion_proof"].update(
        checkpoint=receipt["inclusion_proof"]["checkpoint"].replace("\n", "\n1", 1)),
    "no statements": lambda receipt: receipt.update(commitment_key=None),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_a_receipt_that_was_changed_is_wrong(receipt: Receipt, tmp_path: Path, what: str) -> None:
    TAMPERED[what](receipt)
    code, words = checked(tmp_path, json.dumps(receipt), vkey())
    assert (code, "WRONG: " in words) == (1, True), words


def test_a_receipt_of_another_log_is_wrong(receipt: Receipt, tmp_path: Path) -> None:
    stranger = Signer.generate(vkey().partition("+")[0]).verifier.to_text()
    code, words = checked(tmp_path, json.dumps(receipt), stranger)
    assert (code, words) == (1, "WRONG: no key that you trust has signed it\n")


NO_RECEIPTS = ["", "{}", "[]", "null", "{", '{"inclusion_proof": {}}', "\x00", '"toolgate_export"',
                                     '{"toolgate_export": 1}', '{"toolgate_export": 1}\n{}', "[" * 5000]  # fmt: skip


@pytest.mark.parametrize("content", NO_RECEIPTS)
def test_what_is_no_receipt_is_wrong_and_no_traceback(tmp_path: Path, content: str) -> None:
    key = Signer.generate("somebody").verifier.to_text()
    code, words = checked(tmp_path, content, key)
    assert (code, words.startswith("WRONG: ")) == (1, True)
    assert checked(tmp_path, content, "no key")[0] == 1


def test_who_approved_is_part_of_it(stack: Stack, tenant: Cast, tmp_path: Path) -> None:
    held = stack.chat(tenant.alice, MAIL).json()
    approval, call_id = held["required_action"]["approvals"][0]["id"], held["tool_calls"][0]["id"]
    url = f"{stack.url}/api/v1/approvals/{approval}/deny/"
    assert httpx.post(url, json={"reason": "Not now."}, headers=tenant.carol.headers).status_code == 200
    seal_now()
    receipt = receipt_of(stack, tenant.alice, call_id)
    [decision] = receipt["approval"]["decisions"]
    assert {name: decision[name] for name in ("username", "verdict", "reason", "via")} == {
        "username": tenant.carol.username, "verdict": "deny", "reason": "Not now.", "via": "api",
    }  # fmt: skip
    assert [entry["kind"] for entry in receipt["entries"]] == ["proposed", "decided", "settled"]
    assert checked(tmp_path, json.dumps(receipt), vkey())[0] == 0
    decision["verdict"] = "approve"
    assert checked(tmp_path, json.dumps(receipt), vkey())[1].endswith("the decisions are not what was committed to\n")


def test_the_receipt_of_an_erased_call_has_proofs_and_nothing_else(
    stack: Stack, tenant: Cast, receipt: Receipt, tmp_path: Path
) -> None:
    body = {"call": receipt["call_id"], "reason": "Asked for."}
    answer = httpx.post(f"{stack.url}/api/v1/erasures/", json=body, headers=tenant.olga.headers)
    assert answer.status_code == 201, answer.text
    seal_now()
    erased = receipt_of(stack, tenant.alice, receipt["call_id"])
    assert [entry["kind"] for entry in erased["entries"]] == ["proposed", "settled", "erased"]
    assert [entry["leaf"] for entry in erased["entries"]][:2] == [entry["leaf"] for entry in receipt["entries"]]
    assert {entry["statement"] for entry in erased["entries"]} == {None}
    assert (erased["commitment_key"], erased["params_hash"], erased["output_hash"]) == (None, None, None)
    assert (erased["erased"]["scope"], erased["erased"]["by"]) == ("call", str(tenant.olga.scope.user_id))
    code, words = checked(tmp_path, json.dumps(erased), vkey())
    assert (code, "the call was erased" in words) == (0, True), words
    # What somebody has kept is still right.
    assert checked(tmp_path, json.dumps(receipt), vkey())[0] == 0


def test_a_receipt_costs_the_same_however_large_the_log(stack: Stack, tenant: Cast, receipt: Receipt) -> None:
    client = Client(headers=tenant.alice.headers)
    path = f"/api/v1/tool-calls/{receipt['call_id']}/receipt/"
    assert client.get(path).status_code == 200
    with CaptureQueriesContext(connections["default"]) as queries:
        assert client.get(path).status_code == 200
    assert len(queries) <= PIN, [query["sql"][:80] for query in queries.captured_queries]


def test_reading_anothers_receipt_is_on_record_and_ones_own_is_not(
    stack: Stack, tenant: Cast, receipt: Receipt
) -> None:
    query = "SELECT reader_id, action, via FROM history_reads WHERE call_id = %(id)s"
    assert rows(query, id=receipt["call_id"]) == []
    receipt_of(stack, tenant.dana, receipt["call_id"])
    [reading] = rows(query, id=receipt["call_id"])
    assert reading == {"reader_id": tenant.dana.scope.user_id, "action": "receipt", "via": "api"}


def test_a_member_gets_the_head_of_the_log_and_its_keys(stack: Stack, tenant: Cast, receipt: Receipt) -> None:
    checkpoint = stack.get(tenant.alice, "/api/v1/ledger/checkpoint").json()
    note = stack.get(tenant.alice, "/api/v1/ledger/checkpoint", headers={"Accept": "text/plain"})
    assert note.headers["content-type"] == "text/plain; charset=utf-8"
    assert note.text == checkpoint["note"]
    assert checkpoint["size"] >= receipt["inclusion_proof"]["tree_size"]
    known = stack.get(tenant.alice, "/api/v1/ledger/keys").json()["keys"]
    assert vkey() in [key["vkey"] for key in known]
    assert httpx.get(f"{stack.url}/api/v1/ledger/keys").status_code == 401
