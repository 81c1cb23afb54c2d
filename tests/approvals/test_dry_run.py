"""What a rule would have done: on real calls, whatever came of them, and in bounded time."""

import json
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from psycopg.types.json import Jsonb

from approvals.models import ApprovalRule
from approvals.rules import dry_run
from approvals.rules.dry_run import DryRun
from audit.identifiers import first_id_at
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.approvals.requests import held
from tests.approvals.rules import TO_BOB
from tests.approvals.test_rules import HOSTILE
from tests.approvals.test_rules_api import PATH, post, wanted
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

TO_EVE = {"to": "eve@example.com", "subject": "Hi", "body": "Text"}
MAIL = TO_EVE | {"to": "bob@example.com"}
PASSED = [{"gate": "allowlist", "ok": True}, {"gate": "approval", "ok": True, "holds": True}]


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy ends no dry run; what does is the effort, which is counted in CPU time."""
    monkeypatch.setattr(dry_run, "MOST_SECONDS", PATIENCE_SECONDS)


def rule(cast: Cast, **more: Any) -> ApprovalRule:
    """A rule of olga's that is not saved."""
    values = {"effect": "approve", "tool_name": "send_email", "owner_id": cast.olga.scope.user_id, "name": "Mail"}
    return ApprovalRule(tenant_id=cast.id, **values | more)


def calls(person: Person, count: int = 1, **more: Any) -> None:
    """Recorded calls of the person's; `age` is how long ago."""
    moment = datetime.now(UTC) - more.pop("age", timedelta())
    values = {
        "tenant_id": person.scope.tenant_id, "user_id": person.scope.user_id, "conversation_id": uuid.uuid4(),
        "message_id": uuid.uuid4(), "run_id": uuid.uuid4(), "turn": 1, "position": 0, "tool_name": "send_email",
        "input": MAIL, "status": "success", "decision": PASSED, "created_at": moment, "error_code": None, **more,
    }  # fmt: skip
    values = {name: Jsonb(value) if isinstance(value, dict | list) else value for name, value in values.items()}
    first = first_id_at(moment).int
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner, owner.cursor() as cursor:
        statement = (
            f"INSERT INTO tool_calls (id, {', '.join(values)}) VALUES (%(id)s, {', '.join(f'%({n})s' for n in values)})"
        )
        ids = (uuid.UUID(int=first + uuid.uuid4().int % 2**62) for _ in range(count))
        cursor.executemany(statement.encode(), [values | {"id": each} for each in ids])


def tried(cast: Cast, wanted: ApprovalRule) -> DryRun:
    """The dry run within the tenant's scope."""
    with transactions.scope(*cast.olga.scope):
        return dry_run.run(wanted)


def decided(person: Person, status: str, **more: Any) -> uuid.UUID:
    """A held call whose request was decided."""
    return held(person, "send_email", input=MAIL, status=status, **more)


def test_what_waited_for_humans_would_have_been_approved_whatever_they_said(tenant: Cast) -> None:
    for status in ("approved", "denied", "expired", "cancelled", "pending"):
        decided(tenant.alice, status)
    found = tried(tenant, rule(tenant, condition=TO_BOB)).body()
    assert (found["examined"], found["matched"], found["complete"], found["undecided"]) == (5, 5, True, 0)
    assert found["would_have"] == {"approved": 5, "denied": 0}
    assert found["by_outcome"] == {
        "approved_by_human": 1, "denied_by_human": 1, "expired": 1, "cancelled": 1, "waiting": 1
    }  # fmt: skip
    assert [example["outcome"] for example in found["examples"]] == [
        "waiting", "cancelled", "expired", "denied_by_human", "approved_by_human"
    ]  # fmt: skip


def test_nobody_knows_what_a_rule_would_have_done_with_what_was_erased(tenant: Cast) -> None:
    calls(tenant.alice, input=None)
    calls(tenant.alice, input=None, input_raw="{", status="error", error_code="validation_error")
    calls(tenant.alice)
    for effect, would in (("approve", "approved"), ("deny", "denied")):
        found = tried(tenant, rule(tenant, effect=effect, condition=TO_BOB)).body()
        assert (found["examined"], found["undecided"], found["matched"]) == (3, 1, 1)
        assert found["would_have"][would] == (1 if effect == "deny" else 0)


def test_what_waited_for_nobody_is_matched_and_not_changed_by_a_rule_that_approves(tenant: Cast) -> None:
    calls(tenant.alice, decision=[{"gate": "approval", "ok": True}])
    calls(tenant.alice, decision=[{"gate": "approval", "ok": True, "rule": str(uuid.uuid4())}])
    calls(tenant.alice, decision=[{"gate": "allowlist", "ok": False}], status="error", error_code="not_allowed")
    found = tried(tenant, rule(tenant)).body()
    assert found["by_outcome"] == {"ran": 1, "let_through_by_rule": 1, "refused": 1}
    assert (found["would_have"], found["examples"], found["by_user"]) == ({"approved": 0, "denied": 0}, [], [])
    # One that denies would have stopped the two that were not refused already.
    found = tried(tenant, rule(tenant, effect="deny")).body()
    assert found["would_have"] == {"approved": 0, "denied": 2}
    assert {example["outcome"] for example in found["examples"]} == {"ran", "let_through_by_rule"}


def test_only_calls_that_the_rule_is_about_are_matched(tenant: Cast) -> None:
    for person in (tenant.alice, tenant.bob, tenant.carol, tenant.olga):
        decided(person, "approved")
    decided(tenant.alice, "approved", created_at=datetime.now(UTC))
    held(tenant.alice, "send_email", input=TO_EVE, status="approved")
    held(tenant.alice, "save_note", status="approved")

    def matched(**more: Any) -> tuple[int, int]:
        found = tried(tenant, rule(tenant, **more)).body()
        return found["examined"], found["matched"]

    # Never olga's, whose rule it is; but a rule that denies holds for her too.
    assert matched() == (6, 5)
    assert matched(effect="deny") == (6, 6)
    assert matched(condition=TO_BOB) == (6, 4)
    assert matched(user_id=tenant.alice.scope.user_id) == (6, 3)
    assert matched(role="member") == (6, 4)
    assert matched(role="member", user_id=tenant.carol.scope.user_id) == (6, 0)
    assert matched(tool_name="save_note") == (1, 1)
    assert matched(effect="deny", tool_name="*") == (7, 7)
    assert matched(tool_name="add_task") == (0, 0)


def test_it_names_whose_calls_they_were(tenant: Cast) -> None:
    for person, count in ((tenant.alice, 1), (tenant.bob, 2)):
        for _ in range(count):
            decided(person, "approved")
    with transactions.scope(*tenant.olga.scope):
        found = dry_run.run(rule(tenant)).body()
    people = [{"id": each.scope.user_id, "username": each.username} for each in (tenant.bob, tenant.alice)]
    assert found["by_user"] == [people[0] | {"calls": 2}, people[1] | {"calls": 1}]
    assert [example["user"] for example in found["examples"]] == [people[0], people[0], people[1]]


def test_a_rule_with_uses_would_have_approved_no_more_than_those(tenant: Cast) -> None:
    for _ in range(3):
        decided(tenant.alice, "approved")
    found = tried(tenant, rule(tenant, uses_left=2)).body()
    assert (found["matched"], found["would_have"]["approved"]) == (3, 2)


def test_calls_of_other_tenants_are_not_seen_not_even_by_an_operator(tenant: Cast, other_tenant: Cast) -> None:
    decided(other_tenant.alice, "approved")
    assert tried(tenant, rule(tenant)).examined == 0
    with on_login("operator"):
        assert dry_run.run(rule(tenant)).examined == 0
        assert dry_run.run(rule(other_tenant)).body()["would_have"]["approved"] == 1
    # Nor is another tenant's rule tried within this scope.
    assert tried(tenant, rule(other_tenant)).examined == 0


def test_calls_older_than_thirty_days_are_not_looked_at(tenant: Cast) -> None:
    calls(tenant.alice, age=timedelta(days=31))
    calls(tenant.alice, age=timedelta(days=29))
    found = tried(tenant, rule(tenant, effect="deny"))
    assert (found.examined, found.body()["would_have"]["denied"]) == (1, 1)
    assert abs(datetime.now(UTC) - timedelta(days=30) - found.since) < timedelta(minutes=1)


def test_what_was_no_object_matches_no_condition(tenant: Cast) -> None:
    calls(tenant.alice, input=None, input_raw="{", status="error", error_code="validation_error")
    calls(tenant.alice, input=[1], status="error", error_code="validation_error")
    assert tried(tenant, rule(tenant, effect="deny", condition={"maxProperties": 9})).body()["matched"] == 0


def test_long_arguments_are_left_out_of_the_examples(tenant: Cast) -> None:
    held(tenant.alice, "send_email", input=MAIL | {"body": "x" * 20_000}, status="approved")
    [example] = tried(tenant, rule(tenant)).body()["examples"]
    assert (example["input"], example["input_bytes"] > 20_000) == (None, True)


def test_only_the_newest_calls_are_examined_and_it_says_so(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "MOST_CALLS", 30)
    calls(tenant.alice, 30)
    found = tried(tenant, rule(tenant, effect="deny")).body()
    assert (found["examined"], found["complete"], len(found["examples"])) == (30, True, 20)
    calls(tenant.bob, 5)
    found = tried(tenant, rule(tenant, effect="deny")).body()
    assert (found["examined"], found["complete"]) == (30, False)
    assert [user["calls"] for user in found["by_user"]] == [25, 5]


@pytest.mark.parametrize(("condition", "arguments"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_condition_ends_it_early_and_it_says_so(
    tenant: Cast, condition: Any, arguments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_run, "MOST_EFFORT", 0.2)
    calls(tenant.alice, 30, input=arguments)
    # The time of this thread alone, whatever else the machine does.
    began = time.thread_time()
    found = tried(tenant, rule(tenant, condition=condition))
    assert time.thread_time() - began < 8
    assert found.matched.total() == 0
    assert found.undecided == found.examined > 0
    # What cannot be decided, a rule that denies denies.
    denies = tried(tenant, rule(tenant, effect="deny", condition=condition))
    assert denies.matched.total() == denies.examined > 0
    assert (found.complete, denies.complete) == (found.examined == 30, denies.examined == 30)


def test_it_ends_when_its_time_is_over(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    calls(tenant.alice, 3)
    monkeypatch.setattr(dry_run, "MOST_SECONDS", -1.0)
    found = tried(tenant, rule(tenant))
    assert (found.examined, found.complete) == (0, False)


def test_over_the_wire_it_tells_of_real_calls_and_saves_nothing(stack: Stack, tenant: Cast) -> None:
    for to in ("bob@example.com", "eve@example.com"):
        answer = stack.chat(tenant.alice, f"call: send_email {json.dumps(MAIL | {'to': to})}")
        assert answer.status_code == 202, answer.text
    call = answer.json()["tool_calls"][0]["id"]
    answer = post(stack, tenant.olga, wanted(agent="default"), f"{PATH}dry-run/")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    [example] = body.pop("examples")
    assert body.pop("since") < example["created_at"]
    assert example.pop("tool_call_id") != call
    alice = {"id": str(tenant.alice.scope.user_id), "username": tenant.alice.username}
    assert {name: example[name] for name in ("tool", "user", "input", "status", "outcome")} == {
        "tool": "send_email", "user": alice, "input": MAIL, "status": "awaiting_approval", "outcome": "waiting"
    }  # fmt: skip
    assert body == {
        "examined": 2, "complete": True, "matched": 1, "undecided": 0, "would_have": {"approved": 1, "denied": 0},
        "by_outcome": {"waiting": 1}, "by_user": [{**alice, "calls": 1}], "warnings": [],
    }  # fmt: skip
    assert rows("SELECT id FROM approval_rules WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_it_examines_ten_thousand_calls(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    # A second's work, on a machine that does nothing else.
    monkeypatch.setattr(dry_run, "MOST_EFFORT", 60.0)
    calls(tenant.alice, 10_001)
    found = tried(tenant, rule(tenant, condition=TO_BOB, effect="deny"))
    assert (found.examined, found.matched.total(), found.complete) == (10_000, 10_000, False)
