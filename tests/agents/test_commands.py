"""`manage.py` commands of operators about agents and tools, in one tenant and in no other."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from services import changes as service_changes
from services.changes import NewService, Source
from tenants.scope import transactions
from tests.agents.asking import agents, recorded, versions
from tests.database import rows
from tests.people import Cast


def _run(capsys: pytest.CaptureFixture[str], *words: str, **options: Any) -> list[str]:
    call_command(*words, **options)
    return capsys.readouterr().out.splitlines()


def _with_shop(tenant: Cast) -> None:
    tool = {"name": "buy", "description": "Buy", "inputSchema": {"type": "object", "properties": {}}}
    offered = {"version": 2, "name": "shop", "description": "A shop"}
    text = json.dumps(offered | {"tools": [tool | {"http": {"method": "POST", "path": "/buy"}}]})
    body = {"slug": "shop", "kind": "http", "url": "https://shop.example", "credential": {"type": "none"}}
    with transactions.scope(*tenant.olga.scope):
        service_changes.add(tenant.id, NewService.read(body), Source("http", text))


def test_an_agent_is_made_changed_listed_archived_and_taken_back(
    tenant: Cast, other_tenant: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.json"
    file.write_text('{"instructions": "Be kind.", "tools": ["save_note"]}')
    here = f"--tenant={tenant.slug}"
    assert _run(capsys, "create_agent", here, "support", f"--file={file}") == ["support 1"]
    file.write_text('{"max_turns": 3}')
    assert _run(capsys, "create_agent", here, "support", f"--file={file}") == ["support 2"]
    assert _run(capsys, "archive_agent", here, "support") == ["support 3"]
    assert _run(capsys, "list_agents", here) == ["default\t1\t-\tdefault", "support\t3\t-\tarchived"]
    assert _run(capsys, "archive_agent", here, "support", "--take-back") == ["support 4"]
    row = agents(tenant)["support"]
    assert (row["instructions"], row["max_turns"], row["archived_at"]) == ("Be kind.", 3, None)
    assert versions(tenant, "support") == [(number, None, "command") for number in (1, 2, 3, 4)]
    assert set(agents(other_tenant)) == {"default"}


def test_a_tools_setting_and_grants_are_said_in_one_tenant_alone(
    tenant: Cast, other_tenant: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in (other_tenant, tenant):
        _with_shop(each)
    here = f"--tenant={tenant.slug}"
    said = _run(capsys, "set_tool", here, "shop.buy", "--on", "--tier=workspace", "--rate=2/m")
    assert said == [
        "enabled: true", "tier: workspace", "rate: 2/m", "approvals_needed: 1", "approval_expires: 86400",
    ]  # fmt: skip
    [switched] = rows("SELECT tenant_id FROM service_tools WHERE enabled AND tool_name = 'shop.buy'"
                      " AND tenant_id = ANY(%(t)s)", t=[tenant.id, other_tenant.id])  # fmt: skip
    assert switched["tenant_id"] == tenant.id
    assert _run(capsys, "list_tools", here)[-1] == "shop.buy\ton\tworkspace\t2/m\t1\t86400"
    [grant] = _run(capsys, "grant_tool", here, "shop.*", "--deny", f"--user={tenant.alice.username}")
    assert _run(capsys, "grant_tool", here, "shop.*", "--remove", f"--user={tenant.alice.username}") == [grant]
    assert [each[:3] for each in recorded(tenant)][-4:] == [
        ("service_tool", "shop.buy", "changed"), ("tool_setting", "shop.buy", "created"),
        ("grant", "shop.*", "created"), ("grant", "shop.*", "deleted"),
    ]  # fmt: skip
    assert len(recorded(other_tenant)) == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["create_agent", "A"], "slug must be"),
        (["create_agent", "a", "--file=/nowhere"], "cannot be read"),
        (["archive_agent", "default"], "default agent"),
        (["archive_agent", "nobody"], "no agent"),
        (["set_tool", "no_such_tool", "--off"], "no tool"),
        (["set_tool", "send_email", "--tier=system"], "nobody lowers it"),
        (["set_tool", "send_email", "--approvals-needed=two"], "whole number"),
        (["grant_tool", "no_such_tool", "--allow"], "tool must be"),
        (["grant_tool", "save_note", "--allow", "--user=nobody"], "no member"),
        (["grant_tool", "save_note", "--remove"], "no such grant"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_refusal_is_one_line_and_changes_nothing(tenant: Cast, words: list[str], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        call_command(words[0], *words[1:], f"--tenant={tenant.slug}")
    assert (set(agents(tenant)), recorded(tenant)) == ({"default"}, [])


def test_a_tenant_that_there_is_not_is_refused() -> None:
    with pytest.raises(CommandError, match="there is no tenant 'nobody'"):
        call_command("list_agents", "--tenant=nobody")
