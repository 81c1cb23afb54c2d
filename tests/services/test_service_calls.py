"""Calls of services' tools where more than one part has a hand in them: providers' names, batches, lost workers."""

import threading
from typing import Any

import httpx
import pytest

from tests.database import rows
from tests.hostile.upstream import Upstream, completion
from tests.people import Cast
from tests.services.api import Api, Asked, Owner, Reply, as_json, polled
from tests.services.mcp_server import Server
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS, until

ORDER = "/api/v1/orders/"
ARGUMENTS = '{"order_id": "o-1"}'


def test_a_provider_is_told_a_name_that_it_takes_and_calls_by_it(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, url: str
) -> None:
    api.on(ORDER, as_json({"state": "filled"}))
    Owner(stack, tenant.olga).add(url, slug="trading-desk")
    script = model.script(completion("", ("c1", "trading-desk__get_order", ARGUMENTS)), completion("It is filled."))
    body = {"model": "openai/test", "messages": [{"role": "user", "content": f"{script.name} the order"}]}
    answer = httpx.post(f"{stack.url}/v1/chat/completions", json=body, headers=tenant.alice.headers)
    assert answer.status_code == 200, answer.text
    [called] = answer.json()["toolgate"]["tool_calls"]
    assert (called["tool"], called["status"], called["output"]) == (
        "trading-desk.get_order", "success", {"state": "filled"}
    )  # fmt: skip
    names = {tool["function"]["name"] for tool in script.asked[0]["tools"]}
    assert {"trading-desk__get_order", "trading-desk__execute_trade"} <= names
    assert not [name for name in names if "." in name]
    [order] = [tool for tool in script.asked[0]["tools"] if tool["function"]["name"] == "trading-desk__get_order"]
    assert ORDER not in str(order) and url not in str(script.asked[0])


@pytest.mark.parametrize("parallel", [True, False])
def test_calls_of_one_turn_run_side_by_side_only_where_the_tool_is_parallel_safe(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, url: str, parallel: bool
) -> None:
    together = threading.Barrier(2)
    met: list[bool] = []

    def meet(asked: Asked) -> Reply:
        try:
            together.wait(20 if parallel else 0.5)
            met.append(True)
        except threading.BrokenBarrierError:
            met.append(False)
            together.reset()
        return as_json({"id": asked.path})

    api.on(ORDER, meet)
    owner = Owner(stack, tenant.olga)
    owner.add(url)
    owner.say("desk", "get_order", parallel_safe=parallel)
    twice = completion("", ("c1", "desk__get_order", ARGUMENTS), ("c2", "desk__get_order", ARGUMENTS))
    script = model.script(twice, completion("Done."))
    answer = stack.chat(tenant.alice, f"{script.name} both", model="openai/test").json()
    assert [call["status"] for call in answer["tool_calls"]] == ["success", "success"]
    assert met == [parallel, parallel]


@pytest.mark.parametrize(("kind", "idempotent"), [("http", True), ("http", False), ("mcp", False)])
def test_a_worker_that_is_killed_during_a_call_repeats_it_only_where_the_tool_is_idempotent(
    stack: Stack, tenant: Cast, api: Api, url: str, kind: str, idempotent: bool
) -> None:
    arrived, released = threading.Event(), threading.Event()

    def slow(asked: Asked) -> Reply:
        arrived.set()
        released.wait(PATIENCE_SECONDS)
        return as_json({"id": 1})

    owner = Owner(stack, tenant.olga)
    if kind == "mcp":
        server = Server(api)
        tool = {"name": "get_order", "inputSchema": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
        server.tools, server.call = [tool], lambda params, asked: slow(asked)
        owner.add(f"{url}/mcp", timeout=30, kind="mcp", descriptor=None)
    else:
        api.on(ORDER, slow)
        owner.add(url, timeout=30)
    owner.say("desk", "get_order", idempotent=idempotent)
    path = f"{stack.url}/api/v1/tools/desk.get_order/calls"
    body: dict[str, Any] = {"arguments": {"order_id": "o-1"}, "wait": 0}
    begun = httpx.post(path, json=body, headers=tenant.alice.headers).json()
    assert arrived.wait(PATIENCE_SECONDS)
    try:
        stack.kill("worker")
        released.set()
        stack.start("worker")
        stack.start("beat")
        ended = polled(stack, tenant.alice, begun["id"])
    finally:
        stack.kill("beat")
        if "worker" not in stack.processes:
            stack.start("worker")
        until(lambda: httpx.get(f"{stack.url}/readyz").status_code == 200)
    asked = server.calls if kind == "mcp" else api.asked
    [row] = rows("SELECT status, error_code FROM tool_calls WHERE id = %(id)s", id=begun["id"])
    if idempotent:
        assert (ended["status"], ended["output"], len(asked)) == ("success", {"id": 1}, 2)
    else:
        assert (row["error_code"], len(asked)) == ("outcome_unknown", 1)
