"""Which rules are in force for whom, what they match, and that they fail closed."""

import asyncio
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, connection
from django.db.models import JSONField, Value

from approvals.requests import callers_rights
from approvals.rules import evaluation
from approvals.rules.evaluation import Rule
from tenants.models import Membership, User
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tenants.scope.transactions import transaction
from tests.approvals.rules import TO_BOB, change, make_rule
from tests.database import rows
from tests.people import Cast, Person
from tests.tools.test_schema_limits import bomb
from tools.gates.interface import RulesExhausted
from tools.schemas.effort import Effort

AGENT = {"tools": "all"}


async def in_force(person: Person) -> list[str]:
    """The names of the rules that the gates are given for the person."""
    async with transaction(person.scope) as connection:
        known = await callers_rights.load(connection, person.scope.user_id, AGENT)
    return [rule.name for rule in known.rules]


def loaded(person: Person) -> list[str]:
    """The same, for tests that also use the ORM."""

    async def load() -> list[str]:
        from tenants.scope.transactions import close_pools

        try:
            return await in_force(person)
        finally:
            await close_pools()

    return asyncio.run(load())


def left(rule: Any) -> Any:
    """The uses that the rule has left."""
    return rows("SELECT uses_left FROM approval_rules WHERE id = %(id)s", id=rule.id)[0]["uses_left"]


def a_rule(**more: Any) -> Rule:
    """A rule in force."""
    values = {
        "id": str(uuid.uuid4()), "name": "Mail", "effect": "approve", "tool_name": "send_email", "agent": "",
        "condition": None, "uses_left": None,
    }  # fmt: skip
    return Rule(**values | more)


# --- in force --------------------------------------------------------------------------------------------------------
def test_rules_are_for_everyone_a_user_or_a_role(tenant: Cast) -> None:
    make_rule(tenant, name="everyone")
    make_rule(tenant, name="alice", user_id=tenant.alice.scope.user_id)
    make_rule(tenant, name="members", role="member")
    make_rule(tenant, name="bob as an owner", user_id=tenant.bob.scope.user_id, role="owner")
    assert sorted(loaded(tenant.alice)) == ["alice", "everyone", "members"]
    assert sorted(loaded(tenant.bob)) == ["everyone", "members"]
    assert loaded(tenant.carol) == ["everyone"]


def test_a_rule_that_is_off_over_or_used_up_is_not_in_force(tenant: Cast) -> None:
    make_rule(tenant, name="off", enabled=False)
    make_rule(tenant, name="over", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    make_rule(tenant, name="used up", uses_left=0)
    make_rule(tenant, name="off", effect="deny", enabled=False)
    assert loaded(tenant.alice) == []


def test_another_tenants_rules_are_not_in_force(tenant: Cast, other_tenant: Cast) -> None:
    make_rule(other_tenant, name="theirs", user_id=tenant.alice.scope.user_id, owner_id=tenant.olga.scope.user_id)
    make_rule(other_tenant, name="theirs", effect="deny")
    assert loaded(tenant.alice) == []


def test_deny_rules_come_first(tenant: Cast) -> None:
    make_rule(tenant, name="yes")
    make_rule(tenant, name="no", effect="deny")
    assert loaded(tenant.alice) == ["no", "yes"]


def test_a_rule_approves_nothing_of_its_owners_but_denies_them_too(tenant: Cast) -> None:
    make_rule(tenant, name="yes", owner_id=tenant.carol.scope.user_id)
    make_rule(tenant, name="no", effect="deny", owner_id=tenant.carol.scope.user_id)
    assert loaded(tenant.carol) == ["no"]
    assert loaded(tenant.alice) == ["no", "yes"]


@pytest.mark.parametrize("loss", ["demoted", "removed", "inactive", "only elsewhere"])
def test_a_rule_approves_nothing_once_its_owner_may_not(tenant: Cast, other_tenant: Cast, loss: str) -> None:
    owner = other_tenant.olga if loss == "only elsewhere" else tenant.olga
    make_rule(tenant, name="yes", owner_id=owner.scope.user_id)
    make_rule(tenant, name="no", effect="deny", owner_id=owner.scope.user_id)
    with on_login("operator"):
        of_owner = Membership.objects.filter(tenant_id=tenant.id, user_id=owner.scope.user_id)
        if loss == "demoted":
            of_owner.update(role="auditor")
        elif loss == "removed":
            of_owner.delete()
        elif loss == "inactive":
            User.objects.filter(id=owner.scope.user_id).update(is_active=False)
    assert loaded(tenant.alice) == ["no"]


def test_two_rights_that_differ_in_uses_left_alone_judge_alike(tenant: Cast) -> None:
    assert a_rule(id="1", uses_left=2) == a_rule(id="1", uses_left=1)
    assert a_rule(id="1", uses_left=2) != a_rule(id="1", condition=TO_BOB)


COLUMNS = ["effect = 'deny'", "tool_name = 'save_note'", "condition = NULL", "user_id = NULL", "role = 'owner'",
           "agent = 'other'", "tenant_id = gen_random_uuid()", "created_at = now()"]  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS)
def test_not_even_the_app_can_change_what_a_rule_is_about(tenant: Cast, column: str) -> None:
    rule = make_rule(tenant, condition=TO_BOB)
    statement = f"UPDATE approval_rules SET {column} WHERE id = %s"
    with pytest.raises(ProgrammingError, match="permission denied"), transactions.scope(*tenant.olga.scope):
        connection.cursor().execute(statement, [rule.id])
    with pytest.raises(ProgrammingError, match="permission denied"), transactions.scope(*tenant.olga.scope):
        connection.cursor().execute("DELETE FROM approval_rules WHERE id = %s", [rule.id])


@pytest.mark.parametrize(
    "more",
    [{"tool_name": "*"}, {"expires_at": None}, {"effect": "deny", "uses_left": 1}, {"uses_left": -1},
     {"effect": "allow"}, {"condition": [1]}, {"condition": Value(None, JSONField())}],
    ids=repr,
)  # fmt: skip
def test_no_row_is_wider_than_the_services_would_make_it(tenant: Cast, more: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        make_rule(tenant, **more)


# --- conditions ------------------------------------------------------------------------------------------------------
def test_a_condition_decides_by_the_arguments() -> None:
    rule = a_rule(condition=TO_BOB)
    assert rule.matches({"to": "bob@example.com", "subject": "Hi"}, Effort()) is True
    for other in ({"to": "eve@example.com"}, {"to": ["bob@example.com"]}, {}):
        assert rule.matches(other, Effort()) is False
    assert a_rule().matches({"to": "anyone"}, Effort()) is True


MANY = {f"k{i}": 1 for i in range(20_000)}
HOSTILE = {
    "two to the eighteenth allOf": (bomb(), {"a": 1}),
    "unique items, many times over": (
        {"allOf": [{"properties": {"l": {"uniqueItems": True}}}] * 150},
        {"l": [[i] for i in range(30_000)]},
    ),
    "every name against many patterns": ({"patternProperties": {f"^{i}": True for i in range(300)}}, MANY),
    "every name against a pattern, many times over": ({"allOf": [{"patternProperties": {"^z": True}}] * 150}, MANY),
    "every name as an additional one": ({"allOf": [{"additionalProperties": True}] * 250}, MANY),
    "a pattern that backtracks": (
        {"properties": {"l": {"items": {"pattern": "^(?!b)a*a*a*b$"}}}},
        {"l": ["a" * 390] * 100},
    ),
    "a pattern that is large": ({"properties": {"a": {"pattern": "(?:[^!]{0,30}a){30}!"}}}, {"a": "a" * 250_000}),
    "every item, many times over": ({"properties": {"l": {"items": {"allOf": [{}] * 900}}}}, {"l": [0] * 60_000}),
}


@pytest.mark.parametrize(("condition", "arguments"), HOSTILE.values(), ids=HOSTILE)
def test_a_condition_that_explodes_cannot_be_decided_and_ends_soon(condition: Any, arguments: Any) -> None:
    began = time.thread_time()
    assert a_rule(condition=condition).matches(arguments, Effort()) is None
    assert time.thread_time() - began < 2


@pytest.mark.parametrize(
    "condition",
    [{"$ref": "#"}, {"$ref": "http://127.0.0.1:9/x"}, {"pattern": "(?=a)(a+)+$"}, {"type": "dict"}, [], True, "x", 5],
)
def test_a_condition_that_is_not_sound_cannot_be_decided(condition: Any) -> None:
    assert a_rule(condition=condition).matches({"a": "b"}, Effort()) is None


def test_once_the_effort_is_spent_nothing_more_is_decided() -> None:
    effort = Effort(seconds=0.001)
    assert a_rule(condition=bomb()).matches({"a": 1}, effort) is None
    assert effort.seconds <= 0
    assert a_rule(condition=TO_BOB).matches({"to": "bob@example.com"}, effort) is None
    assert a_rule().matches({"to": "bob@example.com"}, effort) is True


# --- uses ------------------------------------------------------------------------------------------------------------
async def use(person: Person, *ids: Any) -> bool:
    """Whether the rules let that many calls through."""
    try:
        async with transaction(person.scope) as connection:
            await evaluation.use(connection, [str(each) for each in ids])
    except RulesExhausted:
        return False
    return True


async def test_of_twenty_at_once_a_rule_lets_through_as_many_as_it_has_uses(tenant: Cast) -> None:
    rule = await asyncio.to_thread(make_rule, tenant, uses_left=7)
    let_through = await asyncio.gather(*(use(tenant.alice, rule.id) for _ in range(20)))
    assert sorted(let_through) == [False] * 13 + [True] * 7
    assert await asyncio.to_thread(left, rule) == 0


async def test_turns_that_use_the_same_rules_never_wait_for_each_other(tenant: Cast) -> None:
    made = [await asyncio.to_thread(make_rule, tenant, uses_left=20) for _ in range(3)]
    ids = [rule.id for rule in made]
    orders = [ids, ids[::-1], [ids[1], ids[2], ids[0]]] * 6
    assert await asyncio.gather(*(use(tenant.alice, *order) for order in orders)) == [True] * 18
    assert [await asyncio.to_thread(left, rule) for rule in made] == [2, 2, 2]


async def test_a_turn_that_one_of_its_rules_is_too_small_for_uses_none_of_them(tenant: Cast) -> None:
    large = await asyncio.to_thread(make_rule, tenant, uses_left=5)
    small = await asyncio.to_thread(make_rule, tenant, uses_left=1)
    assert not await use(tenant.alice, large.id, small.id, small.id)
    assert [await asyncio.to_thread(left, rule) for rule in (large, small)] == [5, 1]


async def test_a_rule_without_a_count_is_used_without_end_until_it_is_off_or_over(tenant: Cast) -> None:
    rule = await asyncio.to_thread(make_rule, tenant)
    before = await asyncio.to_thread(rows, "SELECT * FROM approval_rules WHERE id = %(id)s", id=rule.id)
    assert await asyncio.gather(*(use(tenant.alice, rule.id, rule.id) for _ in range(5))) == [True] * 5
    assert await asyncio.to_thread(rows, "SELECT * FROM approval_rules WHERE id = %(id)s", id=rule.id) == before
    await asyncio.to_thread(change, rule, enabled=False)
    assert not await use(tenant.alice, rule.id)
    await asyncio.to_thread(change, rule, enabled=True, expires_at=datetime.now(UTC))
    assert not await use(tenant.alice, rule.id)


async def test_a_rule_is_not_switched_off_between_its_use_and_the_commit(tenant: Cast) -> None:
    rule = await asyncio.to_thread(make_rule, tenant)
    async with transaction(tenant.alice.scope) as connection:
        await evaluation.use(connection, [str(rule.id)])
        switching = asyncio.create_task(asyncio.to_thread(change, rule, enabled=False))
        waiting = (
            "SELECT pid FROM pg_locks WHERE locktype = 'tuple' AND relation = 'approval_rules'::regclass"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        while not await asyncio.to_thread(rows, waiting):
            assert not switching.done()
    await switching
    assert not await use(tenant.alice, rule.id)


async def test_another_tenants_rule_cannot_be_used(tenant: Cast, other_tenant: Cast) -> None:
    rule = await asyncio.to_thread(make_rule, other_tenant, uses_left=5)
    assert not await use(tenant.alice, rule.id)
    assert await asyncio.to_thread(left, rule) == 5
