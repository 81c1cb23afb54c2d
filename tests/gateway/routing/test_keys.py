"""What goes along to a provider that a tenant named: its own key, and nothing of the operator's."""

import logging
from typing import Any

import pytest
from django.test import override_settings

from gateway.providers.errors import ProviderError
from gateway.providers.routing.clients import adapter
from gateway.runs.lifecycle import beginning, following
from gateway.runs.preparation import ChatRequest
from tests.database import rows
from tests.gateway.providers.conftest import question
from tests.gateway.routing import owners
from tests.gateway.routing.owners import beside
from tests.gateway.routing.upstream import Upstream
from tests.people import Cast

KEY = "sk-own-2b9d41ae07"
OPERATORS = "operators-secret-77d0"
# What the vendors' SDKs read of the environment.
ENVIRONMENT = {
    "OPENAI_API_KEY": OPERATORS,
    "OPENAI_ADMIN_KEY": OPERATORS,
    "OPENAI_ORG_ID": OPERATORS,
    "OPENAI_PROJECT_ID": OPERATORS,
    "OPENAI_CUSTOM_HEADERS": f"X-Operator: {OPERATORS}\nAuthorization: Bearer {OPERATORS}",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    "ANTHROPIC_API_KEY": OPERATORS,
    "ANTHROPIC_AUTH_TOKEN": OPERATORS,
    "ANTHROPIC_CUSTOM_HEADERS": f"X-Operator: {OPERATORS}\nX-Api-Key: {OPERATORS}",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    "GEMINI_API_KEY": OPERATORS,
    "GOOGLE_API_KEY": OPERATORS,
    "GOOGLE_CLOUD_PROJECT": OPERATORS,
    "HTTP_PROXY": "http://127.0.0.1:1",
    "ALL_PROXY": "http://127.0.0.1:1",
}


@pytest.mark.parametrize("kind", ["openai", "openai-compatible", "anthropic", "gemini"])
async def test_nothing_of_the_operators_environment_goes_along(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    provider = adapter(kind, KEY, upstream.url, "mine", guarded=True)
    with pytest.raises(ProviderError) if kind not in ("openai", "openai-compatible") else _Nothing():
        await provider.ask(question())
    await provider.close()
    [headers] = upstream.headers
    assert KEY in " ".join(headers.values())
    assert OPERATORS not in " ".join(headers.values())


@pytest.mark.parametrize(
    ("kind", "host"),
    [
        ("openai", "api.openai.com"),
        ("anthropic", "api.anthropic.com"),
        ("gemini", "generativelanguage.googleapis.com"),
    ],
)
async def test_without_an_address_the_vendors_own_is_asked_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, kind: str, host: str
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    provider: Any = adapter(kind, KEY, "", "mine", guarded=False)
    target = await provider._upstream._target("/x")
    assert target.url.host == host
    await provider.close()


async def test_an_address_that_leads_to_a_private_host_when_it_is_asked_is_not_connected_to(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url.replace("127.0.0.1", "localhost"), KEY)
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), ())):
        view = await beginning.begin(tenant.alice.principal, ChatRequest("Hello.", model="mine/m1"))
        await following.until_rest(tenant.alice.scope, view)
    assert (view.run.status, view.run.error_code) == ("failed", "provider_error")
    assert view.run.error_message is not None
    assert view.run.error_message.startswith("The address of mine leads to no public host")
    assert upstream.asked == []


async def test_a_key_is_in_no_row_log_or_error(
    tenant: Cast, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await beside(owners.add)(tenant, "mine", upstream.url, KEY)
    upstream.statuses = {"m1": 401}
    view = await beginning.begin(tenant.alice.principal, ChatRequest("Hello.", model="mine/m1"))
    await following.until_rest(tenant.alice.scope, view)
    assert view.run.error_message is not None and KEY not in view.run.error_message
    assert KEY not in caplog.text
    for table in ("model_providers", "setting_changes", "runs", "turns"):
        found = rows(f"SELECT t::text AS row FROM {table} t WHERE tenant_id = %(t)s", t=tenant.id)
        assert KEY not in str(found), table
    [row] = rows("SELECT api_key FROM model_providers WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["api_key"].startswith("gAAAA")


async def test_a_key_that_cannot_be_read_any_more_is_said_and_a_fallback_is_asked(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url, KEY)
    await beside(owners.add)(tenant, "other", upstream.url, KEY)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["other/m1"]})
    rows("UPDATE model_providers SET api_key = 'x' WHERE tenant_id = %(t)s AND slug = 'mine' RETURNING id", t=tenant.id)
    view = await beginning.begin(tenant.alice.principal, ChatRequest("Hello.", model="mine/m1"))
    await following.until_rest(tenant.alice.scope, view)
    assert view.turns[0].model == "other/m1"
    [[_, why]] = view.turns[0].details["failed"]
    assert why.startswith("The key of the provider mine cannot be read any more. An owner can give it anew")


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        pass
