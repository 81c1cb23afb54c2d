"""Members, invitations and keys with manage.py: create, list, revoke."""

import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.database import rows
from tests.members.test_invitations import JOIN, opened, role_of
from tests.members.test_members_api import ask, roles
from tests.people import Cast


def manage(*words: str) -> list[str]:
    """The lines that a command prints."""
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue().splitlines()


def vias(tenant: Cast) -> list[tuple[str, str, str]]:
    found = rows("SELECT target, action, via FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    return [(row["target"], row["action"], row["via"]) for row in found]


def test_members_are_listed_and_removed(tenant: Cast) -> None:
    of_tenant = ("--tenant", tenant.slug)
    listed = [line.split("\t") for line in manage("list_members", *of_tenant)]
    assert listed[0] == [tenant.alice.username, "member", "never"]
    assert len(listed) == 5
    done = manage("remove_member", *of_tenant, "--username", tenant.alice.username)
    assert done == [f"{tenant.alice.username} is no member of {tenant.slug} any more"]
    assert ask(tenant.alice, "GET").status_code == 401
    assert vias(tenant) == [("member", "deleted", "command")]
    with pytest.raises(CommandError, match="There is no such member"):
        manage("remove_member", *of_tenant, "--username", tenant.alice.username)


def test_the_last_owner_stays_one_for_commands_too(tenant: Cast) -> None:
    named = ("--tenant", tenant.slug, "--username", tenant.olga.username)
    for words in (("remove_member", *named), ("create_member", *named, "--role", "member")):
        with pytest.raises(CommandError, match="Make another member an owner first"):
            manage(*words)
    assert (roles(tenant)["olga"], vias(tenant)) == ("owner", [])


def test_invitations_are_made_listed_and_revoked(tenant: Cast, other_tenant: Cast) -> None:
    of_tenant = ("--tenant", tenant.slug)
    [link] = manage("create_invitation", *of_tenant, "--role", "owner")
    [gone] = manage("create_invitation", *of_tenant, "--role", "member", "--email", "a@example.com", "--days", "1")
    listed = [line.split("\t") for line in manage("list_invitations", *of_tenant)]
    assert [each[1:3] for each in listed] == [["member", "a@example.com"], ["owner", "anybody"]]
    assert link not in str(listed)
    assert manage("revoke_invitation", *of_tenant, listed[0][0]) == [f"the invitation {listed[0][0]} is revoked"]
    assert opened(gone).get(JOIN).status_code == 410
    assert opened(link, other_tenant.alice).post(JOIN).status_code == 302
    assert role_of(tenant, other_tenant.alice.username) == "owner"
    assert manage("list_invitations", *of_tenant) == []
    for words in (("--days", "0"), ("--email", "nothing")):
        with pytest.raises(CommandError):
            manage("create_invitation", *of_tenant, "--role", "member", *words)
    with pytest.raises(CommandError, match="There is no such invitation"):
        manage("revoke_invitation", "--tenant", other_tenant.slug, listed[0][0])


def test_keys_are_listed_and_revoked(tenant: Cast) -> None:
    of_tenant = ("--tenant", tenant.slug)
    listed = [line.split("\t") for line in manage("list_api_keys", *of_tenant)]
    assert len(listed) == 5
    [mine] = [line.split("\t") for line in manage("list_api_keys", *of_tenant, "--user", tenant.alice.username)]
    assert mine[1:] == [tenant.alice.key[:10], tenant.alice.username, "all", "never"]
    assert tenant.alice.key not in str(listed)
    assert manage("revoke_api_key", *of_tenant, mine[0]) == [f"the key {mine[1]}… is revoked"]
    assert ask(tenant.alice, "GET").status_code == 401
    assert vias(tenant) == [("key", "changed", "command")]
    assert len(manage("list_api_keys", *of_tenant)) == 4
    with pytest.raises(CommandError, match="has no key"):
        manage("revoke_api_key", *of_tenant, str(uuid.uuid4()))
    with pytest.raises(CommandError, match="there is no tenant"):
        manage("list_api_keys", "--tenant", "nowhere")
