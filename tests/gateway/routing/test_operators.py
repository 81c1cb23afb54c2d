"""What operators do with providers and models: commands and the admin, over all tenants."""

import io
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.approvals import admin
from tests.database import rows
from tests.gateway.routing.upstream import Upstream
from tests.pages.browsing import InProcess, signed_in
from tests.people import Cast

KEY = "sk-operators-19f2ab7c44"
NAME = f"cmd-{uuid.uuid4().hex[:8]}"


def run(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def client(tenant: Cast) -> InProcess:
    """An operator's browser."""
    admin.operator(tenant.olga)
    return signed_in(tenant.olga)


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    return str(path)


def test_commands_add_list_and_delete_providers_of_the_operator_and_of_a_tenant(
    tenant: Cast, upstream: Upstream, key: str
) -> None:
    given = ["--kind", "openai-compatible", "--base-url", upstream.url, "--key-file", key]
    said = run("create_provider", NAME, *given)
    said += run("create_provider", "mine", *given, "--tenant", tenant.slug, "--models", "m1")
    listed = run("list_providers", "--tenant", tenant.slug)
    assert listed == f"mine\topenai-compatible\t{upstream.url}\twith a key\tok\n"
    assert f"{NAME}\topenai-compatible" in run("list_providers")
    with pytest.raises(CommandError, match="There is a provider mine already"):
        run("create_provider", "mine", *given, "--tenant", tenant.slug)
    run("delete_provider", "mine", "--tenant", tenant.slug)
    run("delete_provider", NAME)
    assert run("list_providers", "--tenant", tenant.slug) == ""
    with pytest.raises(CommandError, match="There is no such provider"):
        run("delete_provider", NAME)
    with pytest.raises(CommandError, match="there is no tenant nobody"):
        run("list_providers", "--tenant", "nobody")
    assert KEY not in said + listed
    recorded = rows("SELECT name, action, via FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [tuple(row.values()) for row in recorded] == [("mine", "created", "command"), ("mine", "deleted", "command")]


def test_a_command_with_a_key_that_is_refused_saves_nothing(upstream: Upstream, key: str) -> None:
    upstream.list_status = 401
    with pytest.raises(CommandError, match="refuses this key"):
        run("create_provider", NAME, "--kind", "openai", "--base-url", upstream.url, "--key-file", key)
    assert rows("SELECT FROM model_providers WHERE slug = %(s)s", s=NAME) == []


def test_a_command_says_which_models_and_which_of_the_operators_providers_a_tenant_may_use(
    tenant: Cast, tmp_path: Path
) -> None:
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"allowed": ["offline/*"]}))
    said = json.loads(run("set_models", str(path), "--tenant", tenant.slug, "--operator-providers", "offline,openai"))
    assert (said["allowed"], said["version"]) == (["offline/*"], 1)
    offered = "SELECT operator_providers FROM tenants WHERE id = %(t)s"
    assert rows(offered, t=tenant.id) == [{"operator_providers": ["offline", "openai"]}]
    assert json.loads(run("set_models", "--tenant", tenant.slug, "--operator-providers", "all"))["version"] == 1
    assert rows(offered, t=tenant.id) == [{"operator_providers": None}]
    path.write_text(json.dumps({"allowed": ["x"]}))
    with pytest.raises(CommandError, match=r"allowed\[0\] must be"):
        run("set_models", str(path), "--tenant", tenant.slug)
    with pytest.raises(CommandError, match="name it with --tenant"):
        run("set_models", "--operator-providers", "all")


def test_an_operator_adds_and_changes_a_provider_in_the_admin_and_its_key_is_shown_nowhere(
    client: InProcess, upstream: Upstream
) -> None:
    slug = f"adm-{uuid.uuid4().hex[:8]}"
    form = {"slug": slug, "kind": "openai-compatible", "base_url": upstream.url, "new_key": KEY, "enabled": "on"}
    page = "/admin/gateway/modelprovider/"
    assert client.post(f"{page}add/", form).status_code == 302
    assert upstream.listed[0]["Authorization"] == f"Bearer {KEY}"
    [row] = rows("SELECT id, tenant_id, version, api_key FROM model_providers WHERE slug = %(s)s", s=slug)
    assert (row["tenant_id"], row["version"]) == (None, 1)
    shown = client.get(f"{page}{row['id']}/change/").content.decode() + client.get(page).content.decode()
    assert slug in shown and KEY not in shown and row["api_key"] not in shown
    answer = client.post(f"{page}{row['id']}/change/", {"kind": "openai-compatible", "base_url": upstream.url})
    assert answer.status_code == 302
    [changed] = rows("SELECT version, enabled, api_key FROM model_providers WHERE slug = %(s)s", s=slug)
    assert changed == {"version": 2, "enabled": False, "api_key": row["api_key"]}
    upstream.list_status = 401
    refused = client.post(f"{page}{row['id']}/change/", {**form, "new_key": "sk-wrong"})
    assert refused.status_code == 200 and "refuses this key" in refused.content.decode()
    assert "sk-wrong" not in refused.content.decode()
    client.post(f"{page}{row['id']}/delete/", {"post": "yes"})
    assert rows("SELECT FROM model_providers WHERE slug = %(s)s", s=slug) == []


def test_an_operator_says_of_a_tenants_models_in_the_admin_what_owners_can_say(client: InProcess, tenant: Cast) -> None:
    page = "/admin/gateway/modelsettings/"
    form = {"tenant": str(tenant.id), "allowed": "offline/*", "fallbacks": "{}", "prices": "[]"}
    wrong = client.post(f"{page}add/", {**form, "allowed": "gpt"})
    assert wrong.status_code == 200 and "allowed[0] must be" in wrong.content.decode()
    assert client.post(f"{page}add/", form).status_code == 302
    assert rows("SELECT allowed FROM model_settings WHERE tenant_id = %(t)s", t=tenant.id) == [
        {"allowed": ["offline/*"]}
    ]
    [recorded] = rows("SELECT target, via FROM setting_changes WHERE tenant_id = %(t)s", t=tenant.id)
    assert recorded == {"target": "models", "via": "admin"}
