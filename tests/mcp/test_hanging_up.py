"""Clients that do not wait, and workers that die: what has begun ends and is recorded, what has not never begins."""

import json
import signal
import threading
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from gateway.mcp.calls import inflight
from gateway.mcp.exchange import Exchange
from tenants.scope.transactions import TenantScope
from tests.database import rows
from tests.mcp.raw import MODERN, OLD, Mcp
from tests.mcp.test_calls import ended, recorded
from tests.people import Cast
from tests.waiting import until
from tools.invocation import invoke

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")


class Asking:
    """A `tools/call` whose client can hang up; `session` is what it calls itself, `params` what else it sends."""

    def __init__(self, alice: Mcp, name: str, arguments: dict[str, Any], session: str = "", **params: Any):
        self.body, headers = alice.message("tools/call", {"name": name, "arguments": arguments, **params})
        self.alice = alice
        self.headers = headers | ({"Mcp-Session-Id": session} if session else {})
        self.client = httpx.Client()
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self) -> None:
        try:
            self.answer = self.client.post(self.alice.url, json=self.body, headers=self.headers)
        except (httpx.HTTPError, OSError, ValueError, RuntimeError):
            self.answer = None

    def hang_up(self) -> None:
        """Close the connection under the request."""
        for connection in self.client._transport._pool.connections:  # type: ignore[attr-defined]
            connection._connection._network_stream.get_extra_info("socket").shutdown(2)

    def cancel(self) -> httpx.Response:
        """The notification that names the request."""
        params = {"requestId": self.body["id"], "reason": "changed my mind"}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        return httpx.post(self.alice.url, json=note, headers=self.headers)


def _call(tenant: Cast, status: str) -> dict[str, Any]:
    def look() -> list[dict[str, Any]]:
        return [call for call in recorded(tenant) if call["status"] == status]

    return until(look)[0]


@pytest.fixture
def stopped(served: "Stack") -> Any:
    """A worker that takes nothing, for as long as the test lasts."""
    served.kill("worker", signal.SIGSTOP)
    yield served
    served.kill("worker", signal.SIGCONT)


# The request of the first is the SDK's from its beginning.
@pytest.mark.parametrize("params", [{"_meta": {"progressToken": 1}}, {}])
@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_client_that_hangs_up_cancels_a_call_that_has_not_begun(
    stopped: "Stack", tenant: Cast, revision: str, params: dict[str, Any]
) -> None:
    asking = Asking(Mcp(stopped.url, tenant.alice, revision), "greet", {"name": "Ann"}, **params)
    queued = _call(tenant, "queued")
    asking.hang_up()
    call = ended(queued["id"])
    assert (call["error_code"], call["started_at"]) == ("cancelled", None)
    stopped.kill("worker", signal.SIGCONT)
    assert Mcp(stopped.url, tenant.alice).call("greet", {"name": "Bob"})["isError"] is False
    assert ended(queued["id"])["error_code"] == "cancelled"


def test_clients_that_hang_up_leave_the_databases_connections_to_others(stopped: "Stack", tenant: Cast) -> None:
    # More of them than the pool has connections, at whatever moment.
    for revision in (MODERN, OLD):
        known = len(recorded(tenant))
        asked = [Asking(Mcp(stopped.url, tenant.alice, revision), "greet", {"name": str(n)}) for n in range(30)]
        until(lambda known=known: len(recorded(tenant)) > known)
        for each in asked:
            until(lambda each=each: each.client._transport._pool.connections)  # type: ignore[misc]
            with suppress(AttributeError, OSError):
                each.hang_up()
    assert Mcp(stopped.url, tenant.alice).result("tools/list")["tools"]
    stopped.kill("worker", signal.SIGCONT)
    assert Mcp(stopped.url, tenant.alice).call("greet", {"name": "Ann"})["isError"] is False


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_call_that_has_begun_ends_although_its_client_has_gone(
    served: "Stack", tenant: Cast, revision: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    asking = Asking(Mcp(served.url, tenant.alice, revision), "gated", {"files": [str(gate)]})
    running = _call(tenant, "running")
    asking.hang_up()
    asking.thread.join()
    gate.touch()
    call = ended(running["id"])
    assert (call["status"], call["output"]) == ("success", {"gates": 1})
    assert rows("SELECT id FROM tool_calls WHERE tenant_id = %(t)s AND error_code = 'cancelled'", t=tenant.id) == []


def test_a_notification_cancels_the_request_that_it_names(stopped: "Stack", tenant: Cast) -> None:
    asking = Asking(Mcp(stopped.url, tenant.alice, OLD), "greet", {"name": "Ann"}, session="one")
    queued = _call(tenant, "queued")
    until(lambda: asking.cancel().status_code == 202 and recorded(tenant)[0]["status"] == "error")
    assert ended(queued["id"])["error_code"] == "cancelled"


def test_a_notification_cancels_nobody_elses_request_with_that_id(stopped: "Stack", tenant: Cast) -> None:
    first = Asking(Mcp(stopped.url, tenant.alice, OLD), "greet", {"name": "Ann"}, session="one")
    call = _call(tenant, "queued")
    others = [
        Asking(Mcp(stopped.url, tenant.alice, OLD), "greet", {"name": "Cat"}, session="two"),
        Asking(Mcp(stopped.url, tenant.bob, OLD), "greet", {"name": "Bob"}, session="one"),
    ]
    until(lambda: len(recorded(tenant)) == 3)
    assert {other.body["id"] for other in others} == {first.body["id"]}
    until(lambda: first.cancel().status_code == 202 and ended_ids(tenant))
    assert ended_ids(tenant) == [call["id"]]
    stopped.kill("worker", signal.SIGCONT)
    for other in others:
        other.thread.join()
        assert other.answer is not None and "Hello" in other.answer.text


async def test_an_id_that_two_clients_without_sessions_use_names_neither_of_their_requests(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled: list[uuid.UUID] = []

    async def note(scope: TenantScope, call_id: uuid.UUID) -> None:
        cancelled.append(call_id)

    monkeypatch.setattr(invoke, "cancel", note)
    alice, first, second = Exchange(tenant.alice.principal), uuid.uuid4(), uuid.uuid4()
    async with inflight.known(alice, 1, first):
        await inflight.cancel(alice, 1)
        await inflight.cancel(alice, "1")
        await inflight.cancel(alice, 2)
        await inflight.cancel(alice, None)
        await inflight.cancel(Exchange(tenant.bob.principal), 1)
        assert cancelled == [first]
        async with inflight.known(alice, 1, second):
            await inflight.cancel(alice, 1)
        await inflight.cancel(alice, 1)
    await inflight.cancel(alice, 1)
    assert cancelled == [first]


def test_a_web_process_that_ends_cancels_nothing(stopped: "Stack", tenant: Cast) -> None:
    url = stopped.start_web("leaving web")
    asking = Asking(Mcp(url, tenant.alice), "greet", {"name": "Ann"})
    queued = _call(tenant, "queued")
    stopped.kill("leaving web", signal.SIGTERM)
    asking.thread.join()
    assert asking.answer is not None
    assert (asking.answer.status_code, asking.answer.json()["error"]["data"]["code"]) == (503, "unavailable")
    assert recorded(tenant)[0]["status"] == "queued"
    stopped.kill("worker", signal.SIGCONT)
    assert ended(queued["id"])["status"] == "success"


def ended_ids(tenant: Cast) -> list[Any]:
    """The ids of the tenant's final calls."""
    return [call["id"] for call in recorded(tenant) if call["status"] in ("success", "error")]


def test_a_worker_that_is_killed_in_a_call_costs_its_client_only_the_outcome(
    served: "Stack", tenant: Cast, tmp_path: Path
) -> None:
    alice, arguments = Mcp(served.url, tenant.alice), {"files": [str(tmp_path / "never")]}
    asking = Asking(alice, "gated", arguments)
    running = _call(tenant, "running")
    served.kill("worker")
    rows("UPDATE tool_calls SET lease_until = now() - interval '1 s' WHERE id = %(id)s RETURNING id", id=running["id"])
    served.start("worker")
    asking.thread.join()
    assert asking.answer is not None
    call = ended(running["id"])
    assert (call["status"], call["error_code"], call["attempt"]) == ("error", "outcome_unknown", 1)
    answer = asking.answer.text
    if "outcome_unknown" not in answer:
        # A client is held no longer than half a minute; whoever asks again is answered about the same call.
        answer = json.dumps(alice.call("gated", arguments))
    assert "outcome_unknown" in answer and str(running["id"]) in answer, answer
    assert len(recorded(tenant)) == 1
