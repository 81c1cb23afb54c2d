"""Rules at work in whole chats: what they let through, deny and hold, and where that stands afterwards."""

import asyncio
import json
from typing import Any

import pytest

from tenants.models import Membership
from tenants.scope.routing import on_login
from tests.approvals.api import decide
from tests.approvals.rules import TO_BOB, change, make_rule
from tests.database import rows
from tests.people import Cast, Person, make_unhurried_tenant
from tests.stack import Stack
from tools.models import ToolSetting

NOTE = '{"title": "Milk", "content": "Two litres"}'


@pytest.fixture
def tenant() -> Cast:
    """One whose limits' windows do not end within a test."""
    return make_unhurried_tenant()


def mail(to: str = "bob@example.com") -> str:
    """A script's line that sends an e-mail."""
    return f"call: send_email {json.dumps({'to': to, 'subject': 'Hi', 'body': 'Text'})}"


def chat(stack: Stack, person: Person, *lines: str, **more: Any) -> list[dict[str, Any]]:
    """The calls of a chat that follows a script, as the table holds them."""
    body = stack.chat(person, "\n".join(lines), **more).json()
    return rows("SELECT * FROM tool_calls WHERE run_id = %(run)s ORDER BY turn, position", run=body["run_id"])


def answer(call: dict[str, Any], gate: str) -> dict[str, Any]:
    """What a gate said of a call."""
    [found] = [each for each in call["decision"] if each["gate"] == gate]
    return dict(found)


def states(calls: list[dict[str, Any]]) -> list[str]:
    """What became of calls: the error's code, or the status."""
    return [call["error_code"] or call["status"] for call in calls]


def left(rule: Any) -> Any:
    """The uses that the rule has left."""
    return rows("SELECT uses_left FROM approval_rules WHERE id = %(id)s", id=rule.id)[0]["uses_left"]


def requests(cast: Cast) -> list[dict[str, Any]]:
    """The tenant's approval requests."""
    return rows("SELECT * FROM approval_requests WHERE tenant_id = %(t)s", t=cast.id)


def test_the_rule_that_matched_stands_on_the_call_that_it_let_through(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant, name="Mail to bob", condition=TO_BOB, uses_left=5)
    [call] = chat(stack, tenant.alice, mail())
    assert (call["status"], call["approval_id"]) == ("success", None)
    assert answer(call, "approval") == {
        "gate": "approval", "ok": True, "rule": str(rule.id), "log": "approved by the rule Mail to bob"
    }  # fmt: skip
    assert left(rule) == 4
    assert requests(tenant) == []


KEY = "BEGIN PRIVATE KEY"
AROUND = ["", " " * 10_001, " " * 200_000]


@pytest.mark.parametrize("padding", AROUND, ids=len)
def test_a_rule_denies_words_however_much_text_stands_behind_them(stack: Stack, tenant: Cast, padding: str) -> None:
    rule = make_rule(
        tenant, effect="deny", tool_name="save_note", expires_at=None,
        condition={"properties": {"title": {"pattern": KEY}}, "required": ["title"]},
    )  # fmt: skip
    content = {"properties": {"content": {"pattern": KEY}}, "required": ["content"]}
    behind = make_rule(tenant, effect="deny", tool_name="save_note", expires_at=None, condition=content)
    arguments = {"title": "x", "content": (KEY + padding)[:100_000]}
    [call] = chat(stack, tenant.alice, f"call: save_note {json.dumps(arguments)}")
    assert (call["status"], call["error_code"]) == ("error", "policy_denied")
    assert answer(call, "policy")["rule"] == str(behind.id) != str(rule.id)
    assert rows("SELECT * FROM notes WHERE tenant_id = %(t)s", t=tenant.id) == []


@pytest.mark.parametrize("pattern", [KEY, f"(?=B){KEY}"])
@pytest.mark.parametrize("padding", AROUND, ids=len)
def test_no_mail_leaves_by_a_rule_that_approves_what_words_are_not_in(
    stack: Stack, tenant: Cast, padding: str, pattern: str
) -> None:
    condition = {"not": {"properties": {"body": {"pattern": pattern}}, "required": ["body"]}}
    make_rule(tenant, condition=condition)
    arguments = {"to": "bob@example.com", "subject": "Hi", "body": (KEY + padding)[:100_000]}
    [call] = chat(stack, tenant.alice, f"call: send_email {json.dumps(arguments)}")
    assert call["status"] == "awaiting_approval"
    assert len(requests(tenant)) == 1


def test_a_rule_denies_a_word_however_its_letters_are_made(stack: Stack, tenant: Cast) -> None:
    condition = {"properties": {"title": {"const": "caf\u00e9"}}, "required": ["title"]}
    make_rule(tenant, effect="deny", tool_name="save_note", expires_at=None, condition=condition)
    for title in ("caf\u00e9", "cafe\u0301"):
        arguments = {"title": title, "content": ""}
        [call] = chat(stack, tenant.alice, f"call: save_note {json.dumps(arguments)}")
        assert (call["status"], call["error_code"]) == ("error", "policy_denied")
    assert rows("SELECT * FROM notes WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_what_no_rule_matches_waits_for_a_human(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant, condition=TO_BOB, uses_left=5)
    [call] = chat(stack, tenant.alice, mail("eve@example.com"))
    assert call["status"] == "awaiting_approval"
    assert answer(call, "approval") == {
        "gate": "approval", "ok": True, "holds": True, "log": "send_email is elevated: a human has to approve it"
    }  # fmt: skip
    assert left(rule) == 5
    assert [request["call_id"] for request in requests(tenant)] == [call["id"]]


def test_a_rule_that_is_used_up_within_a_turn_holds_the_turns_later_calls(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant, uses_left=2)
    calls = chat(stack, tenant.alice, mail(), mail("eve@example.com"), mail(), mail())
    assert states(calls) == ["success", "success", "awaiting_approval", "awaiting_approval"]
    assert left(rule) == 0
    [call] = chat(stack, tenant.alice, mail())
    assert call["status"] == "awaiting_approval"


def test_another_rule_goes_on_where_one_is_used_up(stack: Stack, tenant: Cast) -> None:
    first = make_rule(tenant, uses_left=1)
    second = make_rule(tenant, uses_left=1)
    calls = chat(stack, tenant.alice, mail(), mail(), mail())
    assert states(calls) == ["success", "success", "awaiting_approval"]
    assert [answer(call, "approval").get("rule") for call in calls] == [str(first.id), str(second.id), None]
    assert (left(first), left(second)) == (0, 0)


async def test_twenty_turns_at_once_use_a_rule_as_often_as_it_can_be(stack: Stack, tenant: Cast) -> None:
    rule = await asyncio.to_thread(make_rule, tenant, uses_left=5)
    people = [tenant.alice, tenant.bob, tenant.carol, tenant.dana] * 5
    done = await asyncio.gather(*(asyncio.to_thread(chat, stack, person, mail()) for person in people))
    assert sorted(states([call for [call] in done])) == ["awaiting_approval"] * 15 + ["success"] * 5
    let_through = [call for [call] in done if "rule" in answer(call, "approval")]
    assert sorted(states(let_through)) == ["success"] * 5
    assert await asyncio.to_thread(left, rule) == 0
    assert len(await asyncio.to_thread(requests, tenant)) == 15


def test_a_rule_that_denies_refuses_whatever_the_tier_and_the_refusal_is_recorded(stack: Stack, tenant: Cast) -> None:
    condition = {"properties": {"title": {"const": "Milk"}}, "required": ["title"]}
    rule = make_rule(tenant, effect="deny", tool_name="save_note", name="No milk", condition=condition, expires_at=None)
    other = NOTE.replace("Milk", "Bread")
    milk, bread = chat(stack, tenant.alice, f"call: save_note {NOTE}", f"call: save_note {other}")
    assert states([milk, bread]) == ["policy_denied", "success"]
    assert milk["decision"][-1] == {
        "gate": "policy", "ok": False, "code": "policy_denied", "rule": str(rule.id),
        "log": "denied by the rule No milk",
        "user": "A rule of your tenant denies this use of save_note. "
        "An owner can change the rules (/approvals/rules/).",
        "model": "A rule of this tenant denies this call of save_note. "
        "Do not try it again with the same arguments.",
    }  # fmt: skip
    assert (milk["error_message"], milk["started_at"]) == (milk["decision"][-1]["model"], None)
    kinds = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=milk["id"])
    assert [entry["kind"] for entry in kinds] == ["proposed", "settled"]
    titles = rows("SELECT title FROM notes WHERE tenant_id = %(t)s", t=tenant.id)
    assert [note["title"] for note in titles] == ["Bread"]


def test_deny_wins_over_approve_and_over_an_earlier_approval(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant, uses_left=5)
    denies = make_rule(tenant, effect="deny", tool_name="*")
    [call] = chat(stack, tenant.alice, mail())
    assert (call["error_code"], answer(call, "policy")["rule"]) == ("policy_denied", str(denies.id))
    assert left(rule) == 5
    # It is not asked for the rate limit either, nor does it wait for anybody.
    assert [each["gate"] for each in call["decision"]] == ["allowlist", "schema", "permission", "policy"]
    assert requests(tenant) == []


def test_the_rate_limit_holds_for_what_rules_let_through_and_what_they_deny_is_not_counted(
    stack: Stack, tenant: Cast
) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="send_email", rate="2/h")
    rule = make_rule(tenant, uses_left=5)
    eve = {"properties": {"to": {"const": "eve@example.com"}}, "required": ["to"]}
    make_rule(tenant, effect="deny", condition=eve)
    calls = chat(stack, tenant.alice, mail("eve@example.com"), mail(), mail(), mail())
    assert states(calls) == ["policy_denied", "success", "success", "rate_limited"]
    assert left(rule) == 3


def test_rules_are_for_the_agents_that_they_name(stack: Stack, tenant: Cast) -> None:
    make_rule(tenant, agent="other")
    [call] = chat(stack, tenant.alice, mail())
    assert call["status"] == "awaiting_approval"
    make_rule(tenant, agent="default")
    [call] = chat(stack, tenant.alice, mail())
    assert call["status"] == "success"


def test_nobodys_own_rule_approves_their_own_call(stack: Stack, tenant: Cast) -> None:
    make_rule(tenant)
    assert states(chat(stack, tenant.olga, mail())) == ["awaiting_approval"]
    assert states(chat(stack, tenant.alice, mail())) == ["success"]


def test_once_its_owner_may_not_approve_a_rule_does_not_either(stack: Stack, tenant: Cast) -> None:
    make_rule(tenant)
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.olga.scope.user_id).update(role="member")
    assert states(chat(stack, tenant.alice, mail())) == ["awaiting_approval"]


def test_no_rule_stands_in_where_several_people_have_to_approve(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="send_email", approvals_needed=2)
    rule = make_rule(tenant, uses_left=5)
    [call] = chat(stack, tenant.alice, mail())
    assert call["status"] == "awaiting_approval"
    assert answer(call, "approval")["log"] == "send_email is elevated: 2 humans have to approve it"
    assert left(rule) == 5


def test_a_rule_that_cannot_be_decided_approves_nothing_and_denies(stack: Stack, tenant: Cast) -> None:
    # A look ahead is run by the engine that backtracks, which takes no text as long as this.
    hopeless = {"properties": {"body": {"pattern": "^(?=a)a*a*a*b$"}}, "required": ["body"]}
    body = json.dumps({"to": "bob@example.com", "subject": "Hi", "body": "a" * 400})
    make_rule(tenant, condition=hopeless)
    assert states(chat(stack, tenant.alice, f"call: send_email {body}")) == ["awaiting_approval"]
    make_rule(tenant, name="Perhaps", effect="deny", condition=hopeless)
    [call] = chat(stack, tenant.alice, f"call: send_email {body}")
    assert call["error_code"] == "policy_denied"
    assert answer(call, "policy")["log"] == "denied by the rule Perhaps, whose condition could not be decided"


def test_many_hostile_rules_hold_up_nobody_for_long(stack: Stack, tenant: Cast) -> None:
    hopeless = {"properties": {"title": {"allOf": [{"pattern": f"^a*a*a*{n}$"} for n in range(900)]}}}
    for number in range(50):
        make_rule(
            tenant, name=str(number), effect="deny", tool_name="*", condition=hopeless | {"maxProperties": number}
        )
        make_rule(tenant, name=str(number), tool_name="save_note", condition=hopeless | {"maxProperties": number})
    note = json.dumps({"title": "a" * 100, "content": "x"})
    # Without an end to the effort the chat would not end within its client's time.
    calls = chat(stack, tenant.alice, *[f"call: save_note {note}"] * 30)
    assert set(states(calls)) == {"policy_denied"}


def test_a_rule_switched_off_lets_nothing_more_through(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant)
    assert states(chat(stack, tenant.alice, mail())) == ["success"]
    change(rule, enabled=False)
    assert states(chat(stack, tenant.alice, mail())) == ["awaiting_approval"]


def test_access_tells_what_rules_would_do(stack: Stack, tenant: Cast) -> None:
    def gates() -> dict[str, dict[str, Any]]:
        body = stack.get(tenant.alice, "/api/v1/tools/send_email/access").json()
        assert body["tier"] == "elevated"
        return {gate["gate"]: gate for gate in body["gates"]}

    assert list(gates()) == ["allowlist", "permission", "policy", "rate_limit", "approval"]
    assert gates()["approval"]["holds"] is True
    make_rule(tenant, name="Some", condition=TO_BOB)
    make_rule(tenant, name="Never", effect="deny", condition=TO_BOB)
    assert gates()["policy"] == {
        "gate": "policy", "ok": True, "log": "the rule Never may deny it, by its arguments"
    }  # fmt: skip
    assert gates()["approval"] == {
        "gate": "approval", "ok": True, "holds": True,
        "log": "send_email is elevated: a human has to approve it; the rule Some may, by its arguments",
    }  # fmt: skip
    rule = make_rule(tenant, name="All", uses_left=1)
    assert gates()["approval"] == {
        "gate": "approval", "ok": True, "rule": str(rule.id), "log": "approved by the rule All"
    }  # fmt: skip
    assert left(rule) == 1
    make_rule(tenant, name="None", effect="deny")
    assert gates()["policy"]["code"] == "policy_denied"


def test_a_rule_that_denies_stops_a_call_that_a_human_approves_later(stack: Stack, tenant: Cast) -> None:
    run = stack.chat(tenant.alice, mail()).json()
    rule = make_rule(tenant, effect="deny", name="Not any more", expires_at=None)
    [request] = requests(tenant)
    assert decide(stack, tenant.carol, request["id"], "approve").status_code == 200
    # The stream ends with the run.
    assert stack.get(tenant.alice, f"/api/v1/runs/{run['run_id']}/events").status_code == 200
    [call] = rows("SELECT * FROM tool_calls WHERE run_id = %(run)s", run=run["run_id"])
    assert (call["error_code"], call["started_at"]) == ("policy_denied", None)
    assert (call["resumed_decision"][-1]["gate"], call["resumed_decision"][-1]["rule"]) == ("policy", str(rule.id))
