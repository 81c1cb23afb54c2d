"""Chats over named providers: whose key is used, which models are allowed, and who answers where a provider fails."""

import asyncio
import uuid
from typing import Any

import pytest

from gateway.compat.models import _models
from gateway.providers.interface import ClientTool, Options, UserMessage
from gateway.providers.routing import clients
from gateway.providers.routing.errors import ModelNotAllowed
from gateway.runs.errors import NoSuchModel
from gateway.runs.lifecycle import beginning, driving, following
from gateway.runs.preparation import ChatRequest
from gateway.runs.prompting.client_request import ClientRequest
from gateway.runs.view import RunView
from tenants.switches.errors import Killed
from tests.database import rows
from tests.gateway.routing import owners
from tests.gateway.routing.owners import beside
from tests.gateway.routing.upstream import Upstream
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS

FALLBACKS = ["mine/m2", "gone/x", "mine/m3"]
NAME = f"op-{uuid.uuid4().hex[:8]}"


async def chat(cast: Cast, model: str, **more: Any) -> RunView:
    view = await beginning.begin(cast.alice.principal, ChatRequest("Hello.", model=model, **more))
    await following.until_rest(cast.alice.scope, view)
    return view


def said(view: RunView) -> tuple[str, str]:
    return view.run.status, view.turns[-1].text if view.turns else ""


async def test_a_tenants_own_provider_is_asked_with_its_own_key(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url, "sk-mine")
    assert said(await chat(tenant, "mine/m1")) == ("completed", "I am m1.")
    assert [(key, model) for key, model, _ in upstream.asked] == [("sk-mine", "m1")]


async def test_another_tenant_does_not_know_the_provider(tenant: Cast, other_tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    with pytest.raises(NoSuchModel, match="Unknown model 'mine/m1'"):
        await chat(other_tenant, "mine/m1")
    assert upstream.asked == []


async def test_a_changed_key_is_used_from_the_next_turn_on(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url, "sk-one")
    await chat(tenant, "mine/m1")
    await beside(owners.change)(tenant, "mine", api_key="sk-two")
    await chat(tenant, "mine/m1")
    await beside(owners.change)(tenant, "mine", enabled=False)
    with pytest.raises(NoSuchModel, match="the provider mine is switched off"):
        await chat(tenant, "mine/m1")
    await beside(owners.remove)(tenant, "mine")
    with pytest.raises(NoSuchModel, match="Unknown model"):
        await chat(tenant, "mine/m1")
    assert [key for key, *_ in upstream.asked] == ["sk-one", "sk-two"]


async def test_clients_are_kept_for_a_row_and_closed_when_it_changed(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url, "sk-one")
    await chat(tenant, "mine/m1")
    [held] = _clients()
    await chat(tenant, "mine/m1")
    assert _clients() == [held] and held._adapter is not None
    await beside(owners.change)(tenant, "mine", api_key="sk-two")
    await chat(tenant, "mine/m1")
    [fresh] = _clients()
    assert fresh is not held and fresh.version == 2
    while clients._closing:
        await next(iter(clients._closing))
    assert held._adapter is None


def _clients() -> list[clients.Client]:
    return list(clients._clients.get(asyncio.get_running_loop(), {}).values())


async def test_the_operators_provider_is_used_by_tenants_that_may(
    tenant: Cast, other_tenant: Cast, upstream: Upstream
) -> None:
    name = f"{NAME}-a"
    await beside(owners.of_operator)(name, upstream.url)
    await beside(owners.offer)(other_tenant, ["offline"])
    assert said(await chat(tenant, f"{name}/m1")) == ("completed", "I am m1.")
    with pytest.raises(NoSuchModel, match="the providers of this tenant are: offline"):
        await chat(other_tenant, f"{name}/m1")
    await beside(owners.offer)(tenant, [])
    with pytest.raises(NoSuchModel, match="the providers of this tenant are: none"):
        await chat(tenant, f"{name}/m1")
    with pytest.raises(ModelNotAllowed, match="the operator of this Toolgate"):
        await chat(tenant, "offline/demo")
    assert [key for key, *_ in upstream.asked] == ["sk-operator"]


async def test_a_tenants_own_provider_beats_the_operators_of_the_same_name(tenant: Cast, upstream: Upstream) -> None:
    name = f"{NAME}-b"
    await beside(owners.of_operator)(name, upstream.url)
    await beside(owners.add)(tenant, name, upstream.url, "sk-own")
    await chat(tenant, f"{name}/m1")
    assert [key for key, *_ in upstream.asked] == ["sk-own"]


@pytest.mark.parametrize(
    "name",
    [
        "mine/m2", "mine/M1", "Mine/m1", "mine/m1 ", " mine/m1", "mine//m1", "mine/mine/m1", "mine/m1-2024-11-20",
        "mine/models/m1", "mine/m\uff11", "mine/m1\u200b", "mine/m1\u0000", "mine/../mine/m1", "mine/m1?x",
        "offline/demo",
    ],
)  # fmt: skip
async def test_no_other_spelling_of_a_model_passes_the_allowlist(tenant: Cast, upstream: Upstream, name: str) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, allowed=["mine/m1"])
    with pytest.raises((ModelNotAllowed, NoSuchModel)):
        await chat(tenant, name)
    assert upstream.asked == []
    assert rows("SELECT FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert said(await chat(tenant, "mine/m1")) == ("completed", "I am m1.")


async def test_what_is_refused_says_who_can_allow_it(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.say)(tenant, allowed=[])
    with pytest.raises(ModelNotAllowed) as refused:
        await chat(tenant, "offline/demo")
    assert (refused.value.status, refused.value.code) == (403, "model_not_allowed")
    assert "It can be allowed by an owner of this tenant, under Settings, Models." in refused.value.detail


async def test_an_agent_without_a_model_of_its_own_is_held_to_the_list_too(tenant: Cast) -> None:
    await beside(owners.say)(tenant, allowed=["mine/*"])
    with pytest.raises(ModelNotAllowed, match="offline/demo"):
        await beginning.begin(tenant.alice.principal, ChatRequest("Hello."))


async def test_a_model_that_fails_is_replaced_by_its_fallback_and_both_are_recorded(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["mine/m2", "mine/m3"]})
    upstream.statuses = {"m1": 401}
    view = await chat(tenant, "mine/m1")
    assert said(view) == ("completed", "I am m2.")
    assert upstream.models_asked == ["m1", "m2"]
    assert view.turns[0].details["model"] == "mine/m2"
    why = "mine does not accept the configured credentials (HTTP 401)."
    assert view.turns[0].details["failed"] == [["mine/m1", why]]


async def test_what_is_not_allowed_is_no_fallback(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    fallbacks = {"mine/*": FALLBACKS}
    await beside(owners.say)(tenant, allowed=["mine/m1", "mine/m3"], fallbacks=fallbacks)
    upstream.statuses = {"m1": 401}
    assert said(await chat(tenant, "mine/m1")) == ("completed", "I am m3.")
    assert upstream.models_asked == ["m1", "m3"]


@pytest.mark.parametrize("status", [400, 403, 404, 422])
async def test_a_request_that_the_provider_refuses_is_asked_of_nobody_else(
    tenant: Cast, upstream: Upstream, status: int
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["mine/m2"]})
    upstream.statuses = {"m1": status}
    view = await chat(tenant, "mine/m1")
    assert (view.run.status, view.run.error_code) == ("failed", "provider_error")
    assert upstream.models_asked == ["m1"]


async def test_when_all_fail_the_error_names_the_models_that_were_asked(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["mine/m2"]})
    upstream.statuses = {"m1": 401, "m2": 401}
    view = await chat(tenant, "mine/m1")
    assert view.run.error_message is not None
    assert view.run.error_message.endswith("(HTTP 401). These models were asked: mine/m1, mine/m2.")
    assert (view.run.status, view.run.error_status) == ("failed", 502)


async def test_text_of_a_stream_that_broke_off_is_taken_back_before_another_model_is_asked(
    tenant: Cast, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.providers.retry.RETRIES", 0)
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["mine/m2"]})
    upstream.cut = {"m1"}
    view = await chat(tenant, "mine/m1", streams=True)
    assert said(view) == ("completed", "I am m2.")
    assert view.turns[0].attempt == 101
    upstream.asked.clear()
    refused = await chat(tenant, "mine/m1", streams=True, surface="chat_completions")
    assert refused.run.status == "failed"
    assert upstream.models_asked == ["m1"]


async def test_a_cancelled_run_asks_no_fallback(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["mine/m2"]})
    upstream.silent, upstream.statuses = {"m1"}, {"m1": 401}
    view = await beginning.begin(tenant.alice.principal, ChatRequest("Hello.", model="mine/m1"))
    await beside(upstream.received.wait)(PATIENCE_SECONDS)
    # As another process does: nobody stops the driver in this one.
    assert rows("UPDATE runs SET status = 'cancelled', fence = fence + 1 WHERE id = %(r)s RETURNING id", r=view.id)
    upstream.release.set()
    task = driving.driven_here[view.id].task
    await task
    assert upstream.models_asked == ["m1"]


async def test_a_model_that_does_not_begin_to_answer_is_given_up_at_half_of_the_runs_time(
    tenant: Cast, upstream: Upstream
) -> None:
    rows("UPDATE agents SET max_seconds = 16 WHERE tenant_id = %(t)s RETURNING id", t=tenant.id)
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["mine/m2"]})
    upstream.silent = {"m1"}
    view = await chat(tenant, "mine/m1")
    assert said(view) == ("completed", "I am m2.")
    assert view.turns[0].details["failed"] == [["mine/m1", "mine did not begin to answer in time."]]


async def test_a_model_that_is_stopped_is_passed_over_and_the_run_refused_when_none_is_left(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, fallbacks={"mine/m1": ["mine/m2"]})
    await beside(owners.stop)(tenant, "mine/m1")
    view = await chat(tenant, "mine/m1")
    assert said(view) == ("completed", "I am m2.")
    assert view.run.model == "mine/m1" and view.turns[0].model == "mine/m2"
    await beside(owners.stop)(tenant, "mine/m2")
    with pytest.raises(Killed, match="The model mine/m1 was stopped"):
        await chat(tenant, "mine/m1")
    assert upstream.models_asked == ["m2"]


@pytest.mark.parametrize("field", ["models", "fallbacks", "route", "Model", "extra_body"])
async def test_no_field_has_the_provider_choose_another_model_than_the_one_that_is_allowed(
    tenant: Cast, upstream: Upstream, field: str
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    options = Options(family="openai", extra={field: ["mine/m2"]})
    client = ClientRequest(model="mine/m1", messages=(UserMessage("Hello."),), options=options)
    asked = {"surface": "chat_completions", "client": client}
    assert said(await chat(tenant, "mine/m1", **asked)) == ("completed", "I am m1.")
    await beside(owners.say)(tenant, allowed=["mine/m1"])
    view = await chat(tenant, "mine/m1", **asked)
    assert (view.run.status, view.run.error_code, view.run.error_status) == ("failed", "model_not_allowed", 403)
    assert view.run.error_message is not None and field in view.run.error_message
    assert upstream.models_asked == ["m1"]


async def test_a_tool_that_the_provider_runs_names_no_other_model(tenant: Cast, upstream: Upstream) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url)
    await beside(owners.say)(tenant, allowed=["mine/m1"])
    advisor = ClientTool("advisor", family="openai", raw={"type": "advisor", "model": "m2"})
    client = ClientRequest(model="mine/m1", messages=(UserMessage("Hello."),), client_tools=(advisor,))
    view = await chat(tenant, "mine/m1", surface="chat_completions", client=client)
    assert (view.run.status, view.run.error_code) == ("failed", "model_not_allowed")
    assert upstream.asked == []


async def test_only_models_that_are_allowed_and_agents_that_can_answer_are_listed(
    tenant: Cast, upstream: Upstream
) -> None:
    await beside(owners.add)(tenant, "mine", upstream.url, models=["m1", "m2"])
    listed = [each["id"] for each in await _models(tenant.alice.scope)]
    assert listed[0] == "offline/demo" and {"mine/m1", "mine/m2", "default"} <= set(listed)
    await beside(owners.say)(tenant, allowed=["mine/m1"])
    # The agent's model is the operator's default one.
    assert [each["id"] for each in await _models(tenant.alice.scope)] == ["mine/m1"]
    assert upstream.asked == [] and upstream.listed == []
