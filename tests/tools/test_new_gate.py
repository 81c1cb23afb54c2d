"""A gate is one file and one line in the list: a "time of day" gate, added here, refuses over HTTP like any other."""

import json

import pytest

from tests.database import rows
from tests.fuzz.caller import Answer, ask
from tests.pages.call_rows import row, signed_in
from tests.people import Cast, Person
from tools.gates import order
from tools.gates.interface import Candidate, Gate, GateContext, GateResult

NOTE = '{"title": "Milk", "content": "Two litres"}'
MODEL = "save_note may be called from 8 to 18 o'clock. Tell the user to come back then."
USER = "Notes are saved from 8 to 18 o'clock. The operator sets the hours."


class TimeOfDay(Gate):
    """As such a gate's own file would have it."""

    name = "time_of_day"
    code = "policy_denied"
    passed = "It is within hours"
    refused = "It is out of hours"

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """It is always night here, for notes."""
        if candidate.name != "save_note":
            return self.passes()
        return self.refuses(model=MODEL, user=USER, log="22:00 is out of hours")


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list, with a line more."""
    monkeypatch.setattr(order, "GATES", (*order.GATES[:6], TimeOfDay(), *order.GATES[6:]))


async def _asked(person: Person, method: str, url: str, body: object = None) -> Answer:
    headers = {"authorization": f"Bearer {person.key}".encode(), "content-type": b"application/json"}
    return await ask(method, url, headers, b"" if body is None else json.dumps(body).encode())


@pytest.mark.usefixtures("late")
async def test_a_gate_that_is_added_to_the_list_refuses_with_its_code_and_words(tenant: Cast) -> None:
    chat = await _asked(tenant.alice, "POST", "/api/v1/chat", {"content": f"call: save_note {NOTE}"})
    assert chat.status == 200, chat.body
    [call] = chat.json()["tool_calls"]
    assert (call["status"], call["error"]) == ("error", {"code": "policy_denied", "message": MODEL})
    [call_row] = rows("SELECT decision, display FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert [answer["gate"] for answer in call_row["decision"]] == ["allowlist", "schema", "permission", "time_of_day"]
    assert call_row["decision"][-1] == {
        "gate": "time_of_day", "ok": False, "code": "policy_denied", "model": MODEL, "user": USER,
        "log": "22:00 is out of hours",
    }  # fmt: skip
    assert call_row["display"] == USER
    assert rows("SELECT 1 AS one FROM notes WHERE tenant_id = %(t)s", t=tenant.id) == []
    access = await _asked(tenant.alice, "GET", "/api/v1/tools/save_note/access")
    assert [each["gate"] for each in access.json()["gates"]] == [
        "allowlist", "permission", "time_of_day", "policy", "rate_limit", "approval"
    ]  # fmt: skip
    assert access.json()["allowed"] is False


@pytest.mark.usefixtures("late")
def test_its_label_is_on_the_pages_of_the_history(tenant: Cast) -> None:
    refused = {"gate": "time_of_day", "ok": False, "code": "policy_denied", "model": MODEL, "user": USER}
    decision = [{"gate": "allowlist", "ok": True}, refused]
    denied = row(tenant.alice, status="error", error_code="policy_denied", output=None, decision=decision)
    passed = row(tenant.alice, decision=[{"gate": "time_of_day", "ok": True}])
    client = signed_in(tenant.alice)
    page = client.get(f"/history/{denied}/").content.decode()
    assert "It is out of hours" in page and "It is within hours" not in page
    assert "The tool may be called here" in page
    assert "It is within hours" in client.get(f"/history/{passed}/").content.decode()
