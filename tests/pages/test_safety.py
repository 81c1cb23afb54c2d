"""Kill switches for people: the owners' page, the operator's admin, and the operator's command."""

import io
import uuid
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.approvals.admin import Admin, operator
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast
from tests.stack import Stack

PAGE = "/settings/safety/"


def _on(tenant: Cast) -> list[dict[str, Any]]:
    return rows(
        "SELECT id, kind, target, reason, until, by_operator, set_by_id FROM kill_switches WHERE tenant_id = %(t)s",
        t=tenant.id,
    )


def _form(**more: str) -> dict[str, str]:
    return {"kind": "tool", "target": "save_note", "reason": "It misbehaves", "hours": "1"} | more


def test_an_owner_stops_something_sees_it_and_ends_it(tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    assert "Nothing is stopped" in client.get(PAGE).content.decode()
    assert client.post(PAGE, _form()).headers["Location"] == PAGE
    [row] = _on(tenant)
    assert (row["kind"], row["target"], row["reason"]) == ("tool", "save_note", "It misbehaves")
    assert (row["by_operator"], row["set_by_id"], row["until"] is None) == (False, tenant.olga.scope.user_id, False)
    page = client.get(PAGE).content.decode()
    assert "The tool save_note is stopped." in page
    assert f"by {tenant.olga.username}" in page
    assert client.post(f"{PAGE}{row['id']}/end/").headers["Location"] == PAGE
    assert _on(tenant) == []
    assert "The kill switch is ended. What it stopped may go on." in client.get(PAGE).content.decode()
    # Another owner was faster.
    client.post(f"{PAGE}{row['id']}/end/")
    assert f"There is no kill switch {row['id']}." in client.get(PAGE).content.decode()


def test_a_person_is_shown_by_name_and_what_is_wrong_stays_in_the_form(tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    client.post(PAGE, _form(kind="user", target=tenant.bob.username, hours=""))
    [row] = _on(tenant)
    assert (row["target"], row["until"]) == (str(tenant.bob.scope.user_id), None)
    assert f"All that {tenant.bob.username} does" in client.get(PAGE).content.decode()
    wrong = client.post(PAGE, _form(target="save_notes"))
    assert wrong.status_code == 400
    assert "There is no tool &#x27;save_notes&#x27; in this tenant." in wrong.content.decode()
    assert len(_on(tenant)) == 1


@pytest.mark.parametrize("who", ["carol", "dana"])
def test_who_audits_or_approves_looks_and_changes_nothing(tenant: Cast, who: str) -> None:
    signed_in(tenant.olga).post(PAGE, _form())
    [row] = _on(tenant)
    client = signed_in(getattr(tenant, who))
    page = client.get(PAGE).content.decode()
    assert "The tool save_note" in page
    assert "Stop something" not in page
    assert "/end/" not in page
    for answer in (client.post(PAGE, _form(target="add_task")), client.post(f"{PAGE}{row['id']}/end/")):
        assert answer.status_code == 403
        assert "Only an owner of your tenant" in answer.content.decode()
    assert _on(tenant) == [row]


def test_a_member_has_no_such_page(tenant: Cast) -> None:
    client = signed_in(tenant.alice)
    assert client.get(PAGE).status_code == 403
    assert PAGE not in client.get("/settings/").content.decode()


def test_the_operator_stops_and_ends_in_the_admin_and_an_owner_only_sees_it(stack: Stack, tenant: Cast) -> None:
    operator(tenant.olga)
    admin = Admin(stack, tenant.olga)
    form = {"tenant": str(tenant.id), "kind": "agent", "target": "default", "reason": "Under investigation",
            "until_0": "", "until_1": ""}  # fmt: skip
    wrong = admin.post("/admin/tenants/killswitch/add/", form | {"target": "nobody"})
    assert "There is no agent &#x27;nobody&#x27; in this tenant." in wrong.text
    assert _on(tenant) == []
    admin.post("/admin/tenants/killswitch/add/", form)
    [row] = _on(tenant)
    assert (row["kind"], row["target"], row["by_operator"]) == ("agent", "default", True)
    client = signed_in(tenant.olga)
    page = client.get(PAGE).content.decode()
    assert "Only the operator of this Toolgate can end it." in page
    client.post(f"{PAGE}{row['id']}/end/")
    assert _on(tenant) == [row]
    admin.post(f"/admin/tenants/killswitch/{row['id']}/delete/", {"post": "yes"})
    assert _on(tenant) == []
    changes = rows("SELECT action, via FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert changes == [{"action": "created", "via": "admin"}, {"action": "deleted", "via": "admin"}]


def _command(*words: str) -> str:
    said = io.StringIO()
    call_command("kill_switch", *words, stdout=said)
    return said.getvalue().strip()


def test_the_operator_stops_lists_and_ends_by_command(tenant: Cast) -> None:
    made = _command("on", "tool", "save_note", "--tenant", tenant.slug, "--reason", "Why", "--hours", "2")
    [row] = _on(tenant)
    assert (str(row["id"]), row["by_operator"], row["set_by_id"]) == (made, True, None)
    [line] = [each for each in _command("list").splitlines() if each.startswith(made)]
    fields = line.split("\t")
    assert fields[1:3] == [tenant.slug, "tool save_note"]
    assert fields[4:] == ["operator", "Why"]
    assert _command("off", made) == ""
    assert _on(tenant) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["on", "tool", "save_notes"], "There is no tool 'save_notes'"),
        (["on", "agent", "default"], "What is stopped must be one of tool, service, model, everything."),
        (["on", "tool", "save_note", "--hours", "0"], "--hours must be more than 0"),
        (["on", "tool", "save_note", "--tenant", "none-such"], "there is no tenant 'none-such'"),
        (["off", str(uuid.UUID(int=7))], "There is no kill switch 00000000-0000-0000-0000-000000000007."),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_command_that_makes_no_sense_stops_nothing(words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said.replace("(", r"\(")):
        _command(*words, *(["--reason", "Why"] if words[0] == "on" else []))


def test_an_owner_sets_limits_of_requests_and_sees_the_operators(tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    given = {"per_tenant": "600", "per_person": "", "per_key": "30"}
    assert client.post(f"{PAGE}limits/", given).headers["Location"] == PAGE
    page = client.get(PAGE).content.decode()
    assert 'name="per_tenant" type="number" min="1" max="100000" inputmode="numeric" value="600"' in page
    assert "The operator allows" not in page
    assert _limits("--tenant", tenant.slug, "--ceiling", "500") == ["600", "none", "30", "500"]
    wrong = client.post(f"{PAGE}limits/", given)
    assert wrong.status_code == 400
    assert "The operator allows your tenant 500 at most." in wrong.content.decode()
    assert client.post(f"{PAGE}limits/", given | {"per_tenant": "0"}).status_code == 400
    assert _limits("--tenant", tenant.slug, "--no-ceiling") == ["600", "none", "30", "none"]
    assert client.post(f"{PAGE}limits/", dict.fromkeys(given, "")).status_code == 302
    assert _limits("--tenant", tenant.slug) == ["none"] * 4


def _limits(*words: str) -> list[str]:
    said = io.StringIO()
    call_command("request_limits", *words, stdout=said)
    return [line.split("\t")[1] for line in said.getvalue().splitlines()]


def test_only_owners_set_limits_of_requests(tenant: Cast) -> None:
    for person in (tenant.alice, tenant.carol, tenant.dana):
        assert signed_in(person).post(f"{PAGE}limits/", {"per_key": "1"}).status_code == 403
    assert _limits("--tenant", tenant.slug) == ["none"] * 4


def test_the_operator_sets_a_ceiling_in_the_admin(stack: Stack, tenant: Cast) -> None:
    operator(tenant.olga)
    admin = Admin(stack, tenant.olga)
    empty = dict.fromkeys(("per_tenant", "per_person", "per_key"), "")
    admin.post("/admin/tenants/requestlimits/add/", {"tenant": str(tenant.id), "ceiling": "50", **empty})
    assert _limits("--tenant", tenant.slug) == ["none", "none", "none", "50"]
    changes = rows("SELECT target, changes FROM setting_changes WHERE tenant_id = %(t)s", t=tenant.id)
    assert changes == [{"target": "request_limits", "changes": {"ceiling": [None, 50]}}]


@pytest.mark.parametrize("limit", ["0", "-1", "1000000"])
def test_a_ceiling_that_is_no_limit_is_refused(tenant: Cast, limit: str) -> None:
    with pytest.raises(CommandError, match="A limit is a whole number from 1 to 100,000"):
        _limits("--tenant", tenant.slug, "--ceiling", limit)
