"""Kill switches over three web processes and a worker: once one is answered nothing begins, whoever is lost."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx
import pytest

from tenants.scope.routing import on_login
from tests.approvals.api import decide
from tests.database import rows
from tests.people import Cast, make_tenant
from tests.rest.test_kill_switches import MAIL, call, end, post, stop
from tests.stack import Stack
from tests.waiting import until
from tools.models import ToolSetting

pytestmark = pytest.mark.faults
TASK = {"arguments": {"title": "x"}, "wait": 0}
Three = tuple[Stack, list[str]]


@pytest.fixture(scope="module")
def three() -> Iterator[Three]:
    """A worker, and the addresses of three web processes."""
    with Stack(TOOLGATE_TEST="switches") as stack:
        yield stack, [stack.url, stack.start_web("second web"), stack.start_web("third web")]


@pytest.fixture
def tenant() -> Cast:
    """One whose tasks are limited by nothing."""
    made = make_tenant()
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=made.id, tool_name="add_task", rate="100000/m")
    return made


def _now() -> datetime:
    moment: datetime = rows("SELECT clock_timestamp() AS now")[0]["now"]
    return moment


def _calls(tenant: Cast) -> list[dict[str, Any]]:
    query = "SELECT status, error_code, started_at, created_at FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id"
    return rows(query, t=tenant.id)


def test_no_call_begins_once_the_switch_is_answered_however_many_processes_are_asked(
    three: Three, tenant: Cast
) -> None:
    stack, addresses = three
    halt, under_way = threading.Event(), threading.Barrier(len(addresses) + 1)

    def ask(url: str) -> None:
        with httpx.Client(headers=tenant.alice.headers) as client:
            client.post(f"{url}/api/v1/tools/add_task/calls", json=TASK)
            under_way.wait()
            while not halt.is_set():
                client.post(f"{url}/api/v1/tools/add_task/calls", json=TASK)

    with ThreadPoolExecutor(len(addresses)) as pool:
        asking = [pool.submit(ask, url) for url in addresses]
        under_way.wait()
        until(lambda: sum(each["status"] == "success" for each in _calls(tenant)) > 20)
        asked = _now()
        assert stop(stack, tenant.olga, {"tool": "add_task"}).status_code == 201
        answered = _now()
        until(lambda: sum(each["error_code"] == "killed" for each in _calls(tenant)) > 20)
        halt.set()
        for each in asking:
            each.result()
    until(lambda: all(each["status"] in ("success", "error") for each in _calls(tenant)))
    found = _calls(tenant)
    begun = [each["started_at"] for each in found if each["status"] == "success"]
    refused = [each for each in found if each["error_code"] == "killed"]
    assert len(begun) + len(refused) == len(found)
    assert all(moment <= answered for moment in begun)
    last, took = ((moment - asked).total_seconds() * 1000 for moment in (max(begun), answered))
    print(f"the last call began {last:.0f} ms after the request; answered after {took:.0f} ms; {len(refused)} refused")
    for url in addresses:
        chat = httpx.post(f"{url}/api/v1/chat", json={"content": "hello"}, headers=tenant.alice.headers)
        assert chat.status_code == 200


def test_a_call_that_is_queued_behind_a_worker_that_does_nothing_is_stopped(three: Three, tenant: Cast) -> None:
    stack, addresses = three
    # Both ways in: one that is claimed first, and one whose tool is transactional.
    stack.kill("worker", signal.SIGSTOP)
    try:
        queued = [
            httpx.post(f"{addresses[1]}/api/v1/tools/{tool}/calls", json={"arguments": given, "wait": 0},
                       headers=tenant.alice.headers).json()
            for tool, given in (("web_search", {"query": "tea"}), ("add_task", {"title": "x"}))
        ]  # fmt: skip
        assert {each["status"] for each in queued} == {"queued"}
        assert stop(stack, tenant.olga, {"user": tenant.alice.username}).status_code == 201
        asked = _now()
    finally:
        stack.kill("worker", signal.SIGCONT)
    settled = until(lambda: _settled(tenant, 2))
    assert [(each["error_code"], each["started_at"]) for each in settled] == [("killed", None)] * 2
    print(f"stopped {(max(each['finished_at'] for each in settled) - asked).total_seconds() * 1000:.0f} ms after it")
    assert rows("SELECT id FROM tasks WHERE tenant_id = %(t)s", t=tenant.id) == []


def _settled(tenant: Cast, count: int) -> list[dict[str, Any]]:
    found = rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s AND status = 'error'", t=tenant.id)
    return found if len(found) == count else []


def test_a_worker_that_is_lost_between_the_switch_and_the_claim_changes_nothing(three: Three, tenant: Cast) -> None:
    stack, _ = three
    stack.kill("worker", signal.SIGSTOP)
    made = post(stack, tenant.alice, "/api/v1/tools/add_task/calls", TASK).json()
    assert made["status"] == "queued"
    switch = stop(stack, tenant.olga, {"tool": "add_task"}).json()
    stack.kill("worker", signal.SIGKILL)
    stack.start("worker")
    rows("UPDATE tool_calls SET queued_at = now() - interval '1 minute' WHERE id = %(i)s RETURNING id", i=made["id"])

    stack.start("beat")
    try:
        [row] = until(lambda: _settled(tenant, 1))
    finally:
        stack.kill("beat")
    assert (row["error_code"], row["started_at"], row["attempt"]) == ("killed", None, 0)
    assert rows("SELECT id FROM tasks WHERE tenant_id = %(t)s", t=tenant.id) == []
    # The ledger has how it ended.
    kinds = rows("SELECT kind FROM ledger_entries WHERE call_id = %(i)s ORDER BY kind", i=made["id"])
    assert [each["kind"] for each in kinds] == ["proposed", "settled"]
    assert end(stack, tenant.olga, switch["id"]).status_code == 204
    assert call(stack, tenant.alice, "add_task", title="y")["status"] == "success"


def test_a_call_that_was_approved_and_one_that_waits_are_stopped(three: Three, tenant: Cast) -> None:
    stack, addresses = three
    approved, waiting = (
        post(stack, tenant.alice, "/api/v1/tools/send_email/calls", {"arguments": MAIL}).json() for _ in range(2)
    )
    stack.kill("worker", signal.SIGSTOP)
    try:
        # Approved before the switch, and queued or about to be.
        assert decide(stack, tenant.carol, approved["approval_id"], "approve").status_code == 200
        assert stop(stack, tenant.olga, {"tool": "send_email"}).status_code == 201
        asked = _now()
        assert decide(stack, tenant.carol, waiting["approval_id"], "approve").status_code == 200
    finally:
        stack.kill("worker", signal.SIGCONT)
    settled = until(lambda: _settled(tenant, 2))
    assert [(each["error_code"], each["started_at"]) for each in settled] == [("killed", None)] * 2
    print(f"stopped {(max(each['finished_at'] for each in settled) - asked).total_seconds() * 1000:.0f} ms after it")
    assert len(addresses) == 3
