"""`/api/v1/approval-rules/`: who may do what, what is refused, and what can be changed."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from approvals.rules import changes as rule_changes
from tenants.models import Membership, User
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.approvals.rules import TO_BOB, make_rule
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack
from tools.models import ToolSetting

PATH = "/api/v1/approval-rules/"
FIELDS = {
    "id", "name", "effect", "tool", "user", "role", "agent", "condition", "uses_left", "expires_at", "enabled",
    "state", "owner", "created_at", "updated_at",
}  # fmt: skip


def tomorrow(days: float = 1) -> str:
    """A moment as JSON has it."""
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def wanted(**more: Any) -> dict[str, Any]:
    """A rule that approves e-mails to bob."""
    rule = {"name": "Mail to bob", "effect": "approve", "tool": "send_email", "condition": TO_BOB}
    return {name: value for name, value in (rule | {"expires_at": tomorrow()} | more).items() if value is not ...}


def post(stack: Stack, person: Person, body: Any, path: str = PATH, key: str | None = None) -> httpx.Response:
    """A POST as a person, perhaps with another key."""
    headers = {"Authorization": f"Bearer {key}"} if key else person.headers
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(f"{stack.url}{path}", content=content, headers=headers | {"Content-Type": "application/json"})


def patch(stack: Stack, person: Person, rule_id: Any, **changes: Any) -> httpx.Response:
    """A PATCH as a person."""
    return httpx.patch(f"{stack.url}{PATH}{rule_id}/", json=changes, headers=person.headers)


def saved(cast: Cast) -> list[dict[str, Any]]:
    """The tenant's rules as the table holds them."""
    return rows("SELECT * FROM approval_rules WHERE tenant_id = %(t)s ORDER BY created_at", t=cast.id)


def test_an_owner_makes_a_rule_and_finds_it_again(stack: Stack, tenant: Cast) -> None:
    asked = wanted(user=tenant.alice.username, role="member", agent="default", uses_left=3)
    answer = post(stack, tenant.olga, asked)
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert body.pop("warnings") == []
    assert set(body) == FIELDS
    assert {name: body[name] for name in ("name", "effect", "tool", "role", "agent", "condition", "uses_left")} == {
        name: asked[name] for name in ("name", "effect", "tool", "role", "agent", "condition", "uses_left")
    }
    assert body["user"] == {"id": str(tenant.alice.scope.user_id), "username": tenant.alice.username}
    assert body["owner"] == {"id": str(tenant.olga.scope.user_id), "username": tenant.olga.username}
    assert (body["enabled"], body["state"]) == (True, "in_force")
    assert datetime.fromisoformat(body["expires_at"]) == datetime.fromisoformat(asked["expires_at"])
    assert stack.get(tenant.olga, f"{PATH}{body['id']}/").json() == body
    assert stack.get(tenant.olga, PATH).json()["results"] == [body]


def test_what_is_left_out_or_null_is_everyone_and_anything(stack: Stack, tenant: Cast) -> None:
    for more in ({}, {"user": None, "role": None, "agent": None, "uses_left": None}):
        body = post(stack, tenant.olga, wanted(condition=..., **more)).json()
        assert [body[name] for name in ("user", "role", "agent", "condition", "uses_left")] == [None] * 5


def test_a_rule_that_denies_needs_no_end_and_may_be_about_every_tool(stack: Stack, tenant: Cast) -> None:
    answer = post(stack, tenant.olga, {"name": "Stop", "effect": "deny", "tool": "*"})
    assert answer.status_code == 201
    assert (answer.json()["tool"], answer.json()["expires_at"]) == ("*", None)


REFUSED = {
    "a tool that is not there": ({"tool": "send_mail"}, "tool"),
    "approve every tool": ({"tool": "*"}, "tool"),
    "a name with control characters": ({"name": "a\u202eb"}, "name"),
    "no member": ({"user": "nobody"}, "user"),
    "a member by an id that is none": ({"user": str(uuid.uuid4())}, "user"),
    "an agent that is not there": ({"agent": "nobody"}, "agent"),
    "no expiry": ({"expires_at": ...}, "expires_at"),
    "an expiry in the past": ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    "an expiry beyond a year": ({"expires_at": tomorrow(400)}, "expires_at"),
    "a condition about nothing": ({"condition": {}}, "condition"),
    "a misspelt parameter": ({"condition": {"properties": {"too": {"const": "x"}}, "required": ["too"]}}, "condition"),
    "a misspelt keyword": ({"condition": {"propertys": {"to": {"const": "x"}}}}, "condition"),
    "a parameter that may be absent": ({"condition": {"properties": {"to": {"const": "x"}}}}, "condition"),
    "a condition that is no schema": ({"condition": [1]}, "condition"),
    "a pattern that explodes": (
        {"condition": {"properties": {"to": {"pattern": "(?=a)(a+)+$"}}, "required": ["to"]}},
        "condition",
    ),
    "a field that is not known": ({"use_left": 1}, "use_left"),
    "enabled, which every new rule is": ({"enabled": True}, "enabled"),
    "an owner": ({"owner": "alice"}, "owner"),
    "uses for a rule that denies": ({"effect": "deny", "uses_left": 3}, "uses_left"),
}


@pytest.mark.parametrize(("more", "field"), REFUSED.values(), ids=REFUSED)
def test_a_rule_that_cannot_be_is_refused_also_by_the_dry_run(
    stack: Stack, tenant: Cast, more: dict[str, Any], field: str
) -> None:
    for path in (PATH, f"{PATH}dry-run/"):
        answer = post(stack, tenant.olga, wanted(**more), path)
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), answer.text
        assert answer.json()["field"] == field
    assert saved(tenant) == []


@pytest.mark.parametrize(
    "more",
    [{"effect": "allow"}, {"effect": ...}, {"name": ""}, {"name": "x" * 201}, {"role": "boss"}, {"uses_left": 0},
     {"uses_left": -1}, {"uses_left": 10**12}, {"uses_left": "many"}, {"expires_at": "soon"}, {"tool": None},
     {"expires_at": "9999-12-31T23:59:59-23:59"}, {"name": ["a"]}, {"user": {"id": 1}}],
    ids=repr,
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_refused(stack: Stack, tenant: Cast, more: dict[str, Any]) -> None:
    answer = post(stack, tenant.olga, wanted(**more))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), answer.text
    assert list(answer.json()["errors"]) == list(more)
    assert saved(tenant) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b"[" * 100_000, b'{"name": "\\u0000"}', b'{"name": "a", "name": "b"}', b"\xff",
     b'{"condition": ' + b'{"not": ' * 5000 + b"1" + b"}" * 5001, b'{"name": "' + b"x" * 300_000 + b'"}'],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
def test_a_body_that_is_no_sound_json_is_refused(stack: Stack, tenant: Cast, body: bytes) -> None:
    for path in (PATH, f"{PATH}dry-run/"):
        answer = post(stack, tenant.olga, body, path)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert saved(tenant) == []


def test_only_owners_make_and_change_rules_and_members_do_not_read_them(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant)
    before = saved(tenant)
    for person, reads in ((tenant.alice, 403), (tenant.carol, 200), (tenant.dana, 200), (tenant.olga, 200)):
        assert stack.get(person, PATH).status_code == reads
        assert stack.get(person, f"{PATH}{rule.id}/").status_code == reads
        if person is not tenant.olga:
            assert post(stack, person, wanted()).status_code == 403
            assert post(stack, person, wanted(), f"{PATH}dry-run/").status_code == 403
            assert patch(stack, person, rule.id, enabled=False).status_code == 403
    assert saved(tenant) == before
    assert httpx.get(f"{stack.url}{PATH}").status_code == 401


def test_a_key_that_may_not_approve_makes_no_rule_that_does(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        _, key = keys.create(
            membership=Membership.objects.get(tenant_id=tenant.id, user_id=tenant.olga.scope.user_id), scopes=["admin"]
        )
    for path in (PATH, f"{PATH}dry-run/"):
        answer = post(stack, tenant.olga, wanted(), path, key)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert saved(tenant) == []
    assert post(stack, tenant.olga, {"name": "Stop", "effect": "deny", "tool": "*"}, key=key).status_code == 201


def test_another_tenants_rules_and_people_are_not_there(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    rule = make_rule(other_tenant)
    assert stack.get(tenant.olga, PATH).json()["results"] == []
    assert stack.get(tenant.olga, f"{PATH}{rule.id}/").status_code == 404
    assert patch(stack, tenant.olga, rule.id, enabled=False).status_code == 404
    assert saved(other_tenant)[0]["enabled"] is True
    for user in (other_tenant.alice.username, str(other_tenant.alice.scope.user_id)):
        answer = post(stack, tenant.olga, wanted(user=user))
        assert (answer.status_code, answer.json()["field"]) == (400, "user")


def test_nobody_makes_a_rule_for_their_own_calls(stack: Stack, tenant: Cast) -> None:
    answer = post(stack, tenant.olga, wanted(user=tenant.olga.username))
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_rule", "user")
    assert saved(tenant) == []


def test_a_rule_is_switched_off_and_on_again_and_never_deleted(stack: Stack, tenant: Cast) -> None:
    rule = post(stack, tenant.olga, wanted()).json()
    off = patch(stack, tenant.olga, rule["id"], enabled=False)
    assert (off.status_code, off.json()["enabled"], off.json()["state"]) == (200, False, "off")
    assert stack.get(tenant.olga, f"{PATH}?enabled=false").json()["results"] == [off.json()]
    assert stack.get(tenant.olga, f"{PATH}?enabled=true").json()["results"] == []
    assert patch(stack, tenant.olga, rule["id"], enabled=True).json()["state"] == "in_force"
    answer = httpx.delete(f"{stack.url}{PATH}{rule['id']}/", headers=tenant.olga.headers)
    assert (answer.status_code, len(saved(tenant))) == (405, 1)


def test_what_a_rule_is_about_never_changes(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant)
    before = saved(tenant)
    for name, value in {
        "effect": "deny", "tool": "save_note", "condition": None, "user": tenant.bob.username, "role": "member",
        "agent": "default", "owner": str(tenant.carol.scope.user_id), "id": str(uuid.uuid4()), "created_at": tomorrow(),
    }.items():  # fmt: skip
        answer = patch(stack, tenant.olga, rule.id, enabled=False, **{name: value})
        assert (answer.status_code, answer.json()["field"]) == (400, name)
    assert saved(tenant) == before


def test_who_changes_a_rule_answers_for_it(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant, owner_id=tenant.carol.scope.user_id)
    body = patch(stack, tenant.olga, rule.id, name="Other", uses_left=5, expires_at=tomorrow(2)).json()
    assert (body["name"], body["uses_left"], body["owner"]["username"]) == ("Other", 5, tenant.olga.username)
    assert datetime.fromisoformat(body["updated_at"]) > datetime.fromisoformat(body["created_at"])


def test_a_change_is_checked_like_a_new_rule(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant)
    own = make_rule(tenant, name="Olga's", user_id=tenant.olga.scope.user_id, owner_id=tenant.carol.scope.user_id)
    denies = make_rule(tenant, name="No", effect="deny", expires_at=None)
    over = make_rule(tenant, name="Over", enabled=False, expires_at=datetime.now(UTC))
    before = saved(tenant)
    for changed, changes in (
        (rule, {"expires_at": None}), (rule, {"expires_at": tomorrow(400)}), (rule, {"expires_at": tomorrow(-1)}),
        (rule, {"name": "\u202e"}), (rule, {"uses_left": 0}), (own, {"name": "Mine"}), (denies, {"uses_left": 1}),
        (over, {"enabled": True}),
    ):  # fmt: skip
        answer = patch(stack, tenant.olga, changed.id, **changes)
        assert answer.status_code == 400, (changes, answer.text)
    assert saved(tenant) == before
    # Taking it out of force is always possible.
    assert patch(stack, tenant.olga, own.id, enabled=False).status_code == 200


def test_a_rule_says_why_it_does_nothing(stack: Stack, tenant: Cast) -> None:
    make_rule(tenant, name="off", enabled=False)
    make_rule(tenant, name="expired", expires_at=datetime.now(UTC))
    make_rule(tenant, name="used_up", uses_left=0)
    make_rule(tenant, name="ownerless", owner_id=tenant.bob.scope.user_id)
    make_rule(tenant, name="in_force", effect="deny", owner_id=tenant.bob.scope.user_id)
    found = stack.get(tenant.dana, PATH).json()["results"]
    assert [rule["state"] for rule in found] == [rule["name"] for rule in found]
    assert len(found) == 5
    with on_login("operator"):
        User.objects.filter(id=tenant.olga.scope.user_id).update(is_active=False)
    rule = make_rule(tenant)
    assert stack.get(tenant.dana, f"{PATH}{rule.id}/").json()["state"] == "ownerless"


def test_a_rule_that_changes_nothing_says_so(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="send_email", approvals_needed=2)
    note = {"properties": {"title": {"pattern": "Milk"}}, "required": ["title"]}
    for path in (f"{PATH}dry-run/", PATH):
        assert post(stack, tenant.olga, wanted(), path).json()["warnings"] == [
            "2 people have to approve send_email, and no rule stands in for them."
        ]
        assert post(stack, tenant.olga, wanted(tool="save_note", condition=note), path).json()["warnings"] == [
            "title: the pattern Milk matches anywhere in a text; begin it with ^ and end it with $.",
            "Calls of save_note wait for nobody, since its tier is workspace: this rule changes nothing.",
        ]


def test_no_more_rules_are_in_force_than_every_turn_can_read(stack: Stack, tenant: Cast) -> None:
    made = [make_rule(tenant, name=str(number)) for number in range(rule_changes.MOST_IN_FORCE)]
    make_rule(tenant, name="over", expires_at=datetime.now(UTC))
    off = make_rule(tenant, name="off", enabled=False)
    assert post(stack, tenant.olga, wanted()).json()["code"] == "invalid_rule"
    assert patch(stack, tenant.olga, off.id, enabled=True).json()["code"] == "invalid_rule"
    assert patch(stack, tenant.olga, made[0].id, name="Renamed").status_code == 200
    assert patch(stack, tenant.olga, made[0].id, enabled=False).status_code == 200
    assert post(stack, tenant.olga, wanted()).status_code == 201


def test_rules_come_in_pages_and_can_be_narrowed(stack: Stack, tenant: Cast) -> None:
    for number in range(3):
        make_rule(tenant, name=str(number))
    make_rule(tenant, name="no", effect="deny", tool_name="save_note")
    page = stack.get(tenant.olga, f"{PATH}?limit=2").json()
    assert [rule["name"] for rule in page["results"]] == ["no", "2"]
    page = stack.get(tenant.olga, page["next"].removeprefix(stack.url)).json()
    assert ([rule["name"] for rule in page["results"]], page["next"]) == (["1", "0"], None)
    for query in ("?effect=deny", "?tool=save_note"):
        assert [rule["name"] for rule in stack.get(tenant.olga, f"{PATH}{query}").json()["results"]] == ["no"]
    assert stack.get(tenant.olga, f"{PATH}?effect=maybe").status_code == 400
