"""Rate limits are exact however many ask at once, and without Redis only reading goes on."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from django.test import override_settings

from tests import processes
from tests.database import rows
from tests.people import Cast, Person, make_unhurried_tenant
from tests.stack import ROOT, Stack, free_port
from tests.waiting import PATIENCE_SECONDS, until
from tools.gates import policy
from tools.gates.checks.rate_limit import RateLimit
from tools.gates.interface import Caller, Candidate, GateContext
from tools.registry import registry

NOTE = json.dumps({"title": "a", "content": "b"})
CHARGING = """
import asyncio, django, sys, uuid
django.setup()
from tools.gates import rate_counter
tenant, user, tool, rate = uuid.UUID(sys.argv[1]), uuid.UUID(sys.argv[2]), sys.argv[3], sys.argv[4]
sys.stdin.readline()
async def ask():
    charges = [rate_counter.charge(tenant_id=tenant, user_id=user, tool=tool, rate=rate) for _ in range(40)]
    return sum(charge.allowed for charge in await asyncio.gather(*charges))
print(asyncio.run(ask()))
"""


def _codes(tenant: Cast) -> Counter[str | None]:
    found = rows("SELECT error_code FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    return Counter(row["error_code"] for row in found)


@pytest.fixture
def tenant() -> Cast:
    """One whose limits' windows do not end within a test."""
    return make_unhurried_tenant()


def test_sixty_requests_at_once_save_exactly_thirty_notes(stack: Stack, tenant: Cast) -> None:
    together = threading.Barrier(20)

    def ask(_: int) -> list[str]:
        together.wait()
        return [stack.chat(tenant.alice, f"call: save_note {NOTE}").json()["tool_calls"][0]["status"] for _ in range(3)]

    with ThreadPoolExecutor(20) as pool:
        statuses = Counter(status for three in pool.map(ask, range(20)) for status in three)
    assert statuses == {"success": 30, "error": 30}
    assert _codes(tenant) == {None: 30, "rate_limited": 30}
    assert len(rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id)) == 30


def test_several_processes_together_let_through_exactly_the_limit(tenant: Cast) -> None:
    scope = tenant.alice.scope
    command = [sys.executable, "-c", CHARGING, str(scope.tenant_id), str(scope.user_id), "save_note", "30/d"]
    started = [
        processes.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert sum(int(process.communicate(timeout=PATIENCE_SECONDS)[0]) for process in started) == 30


def test_one_users_calls_are_not_charged_to_another(stack: Stack, tenant: Cast) -> None:
    many = "\n".join([f"call: save_note {NOTE}"] * 31)
    assert [call["status"] for call in stack.chat(tenant.alice, many).json()["tool_calls"]].count("success") == 30
    bobs = stack.chat(tenant.bob, f"call: save_note {NOTE}\ncall: add_task " + json.dumps({"title": "a"})).json()
    assert [call["status"] for call in bobs["tool_calls"]] == ["success", "success"]
    alices = stack.chat(tenant.alice, 'call: add_task {"title": "a"}\ncall: list_tasks {}').json()
    assert [call["status"] for call in alices["tool_calls"]] == ["success", "success"]


def test_refused_calls_are_not_charged(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, "\n".join(["call: save_note {}"] * 40))
    body = stack.chat(tenant.alice, "\n".join([f"call: save_note {NOTE}"] * 31)).json()
    assert [call["status"] for call in body["tool_calls"]] == ["success"] * 30 + ["error"]


@pytest.mark.parametrize(("tool", "limit"), [("web_search", 10), ("save_note", 30), ("list_tasks", 60)])
def test_each_tool_has_the_limit_that_it_declares(stack: Stack, tenant: Cast, tool: str, limit: int) -> None:
    arguments = {"web_search": '{"query": "tea"}', "save_note": NOTE, "list_tasks": "{}"}[tool]
    body = stack.chat(tenant.alice, "\n".join([f"call: {tool} {arguments}"] * (limit + 2))).json()
    assert [call["status"] for call in body["tool_calls"]] == ["success"] * limit + ["error"] * 2
    error = body["tool_calls"][-1]["error"]
    assert error["code"] == "rate_limited"
    assert "seconds" in error["message"]


# --- without Redis ---------------------------------------------------------------------------------------------------
@contextmanager
def hanging() -> Iterator[str]:
    """A Redis that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@contextmanager
def dead() -> Iterator[str]:
    """A Redis where nobody listens."""
    yield f"redis://127.0.0.1:{free_port()}/0"


@contextmanager
def full() -> Iterator[str]:
    """A Redis that answers every command with an error."""

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=complain, args=[connection], daemon=True).start()

    def complain(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65536):
                commands = data.count(b"*") or 1
                connection.sendall(b"-OOM command not allowed when used memory > 'maxmemory'.\r\n" * commands)

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@pytest.mark.parametrize("away", [hanging, dead, full])
async def test_without_a_count_reading_goes_on_and_changing_is_refused(tenant: Cast, away: object) -> None:
    caller = Caller(*tenant.alice.scope)
    said = {"role_ceilings": {}, "default_tools": [], "settings": {}, "grants": [], "switches": None, "taint": "ask"}
    rights = policy.from_row(said | {"role": "member", "member_id": caller.user_id}, "all")
    with away() as url, override_settings(REDIS_URL=url):  # type: ignore[operator]
        answers = {
            name: await RateLimit().check(Candidate(name, registry().get(name), {}), GateContext(rights, caller))
            for name in ("web_search", "list_tasks", "save_note", "add_task")
        }
    assert {name: (answer.ok, answer.code) for name, answer in answers.items()} == {
        "web_search": (True, None),
        "list_tasks": (True, None),
        "save_note": (False, "unavailable"),
        "add_task": (False, "unavailable"),
    }
    assert "uncounted" in answers["web_search"].log


def _statuses(stack: Stack, person: Person, content: str) -> list[tuple[str, str | None]]:
    answer = stack.chat(person, content)
    assert answer.status_code == 200, answer.text
    calls = answer.json()["tool_calls"]
    return [(call["status"], call["error"] and call["error"]["code"]) for call in calls]


class _WebOnly(Stack):
    """A web process alone: without Redis no worker hears of anything."""

    def __enter__(self) -> "_WebOnly":
        self.start("web")
        until(self._answers, lambda: self.log("web"))
        return self

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz").status_code == 200
        except httpx.HTTPError:
            return False


@pytest.mark.parametrize("away", [dead, hanging])
async def test_a_whole_toolgate_without_redis_refuses_what_changes_and_answers(tenant: Cast, away: object) -> None:
    with away() as url, _WebOnly(REDIS_URL=url) as stack:  # type: ignore[operator]
        found = await asyncio.to_thread(_statuses, stack, tenant.alice, f"call: save_note {NOTE}")
        assert found == [("error", "unavailable")]
        assert stack.chat(tenant.alice, "hello").json()["status"] == "completed"
        ready = httpx.get(f"{stack.url}/readyz")
        assert ready.status_code == 503
        assert ready.json()["checks"]["database"] == "ok"
    assert rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id) == []
