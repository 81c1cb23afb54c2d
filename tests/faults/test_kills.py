"""`kill -9` in the middle of a call: nothing is lost, nothing happens twice, and what cannot be known is said."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.faults.house import House, Remote

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """One house for all faults; each test leaves it standing."""
    with House() as standing:
        yield standing


@pytest.fixture
def remote() -> Iterator[Remote]:
    """A remote that holds its answer back."""
    counting = Remote()
    yield counting
    counting.close()


def test_a_worker_lost_inside_a_database_tool_costs_nothing(house: House) -> None:
    run_id, _ = house.begin('call: slow_note {"seconds": 2}')
    house.wait_for(lambda: house.call_of(run_id, "claimed"))
    house.stack.kill("worker")
    assert house.rows("SELECT * FROM notes WHERE title = 'slow'") == []
    house.stack.start("worker")
    assert house.end_of(run_id)["status"] == "completed"
    call = house.call_of(run_id)
    assert call is not None
    assert (call["status"], call["attempt"]) == ("success", 2)
    assert len(house.rows("SELECT * FROM notes WHERE title = 'slow'")) == 1
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_worker_lost_after_an_effect_may_have_begun_is_never_retried(house: House, remote: Remote) -> None:
    run_id, _ = house.begin(f'call: slow_effect {{"url": "{remote.url}/effect"}}')
    assert remote.reached.wait(20)
    house.stack.kill("worker")
    remote.gate.set()
    house.stack.start("worker")
    assert house.end_of(run_id)["status"] == "completed"
    call = house.call_of(run_id)
    assert call is not None
    assert (call["status"], call["error_code"]) == ("error", "outcome_unknown")
    assert remote.hits == ["/effect"]
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_lookup_whose_worker_is_lost_is_made_again(house: House, remote: Remote) -> None:
    run_id, _ = house.begin(f'call: slow_lookup {{"url": "{remote.url}/look"}}')
    assert remote.reached.wait(20)
    house.stack.kill("worker")
    remote.gate.set()
    house.stack.start("worker")
    assert house.end_of(run_id)["status"] == "completed"
    call = house.call_of(run_id)
    assert call is not None
    assert (call["status"], call["attempt"]) == ("success", 2)


def test_a_worker_stopped_past_its_lease_and_woken_changes_nothing(house: House, remote: Remote) -> None:
    run_id, _ = house.begin(f'call: slow_effect {{"url": "{remote.url}/late"}}')
    assert remote.reached.wait(20)
    sleeper = house.stack.processes.pop("worker")
    os.killpg(sleeper.pid, signal.SIGSTOP)
    house.stack.start("worker")
    call = house.wait_for(lambda: house.call_of(run_id, "error"))
    assert call["error_code"] == "outcome_unknown"
    remote.gate.set()
    os.killpg(sleeper.pid, signal.SIGCONT)
    assert house.end_of(run_id)["status"] == "completed"
    house.wait_for(lambda: "claim lost" in house.stack.log("worker"))
    assert house.call_of(run_id) == call
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]
    os.killpg(sleeper.pid, signal.SIGKILL)
    sleeper.wait(10)


def test_a_run_whose_web_process_is_lost_is_taken_over_by_a_worker(house: House, remote: Remote) -> None:
    run_id, _ = house.begin(f'call: slow_lookup {{"url": "{remote.url}/web"}}')
    assert remote.reached.wait(20)
    house.stack.kill("web")
    remote.gate.set()
    run = house.end_of(run_id)
    assert (run["status"], run["fence"]) == ("completed", 2)
    call = house.call_of(run_id)
    assert call is not None
    assert (call["status"], call["attempt"]) == ("success", 1)
    house.stack.start("web")
    house.stack.wait_ready()
    body = house.stack.get(house.alice, f"/api/v1/runs/{run_id}").json()
    assert body["status"] == "completed"
    assert body["content"] != ""
    events = house.stack.get(house.alice, f"/api/v1/runs/{run_id}/events").text
    assert events.count("event: run.completed") == 1


def test_valkey_lost_with_everything_in_it_loses_no_call(house: House, remote: Remote) -> None:
    run_id, _ = house.begin(f'call: slow_lookup {{"url": "{remote.url}/redis"}}')
    assert remote.reached.wait(20)
    valkey = house.services.valkey
    assert valkey is not None and valkey.pid is not None
    os.kill(valkey.pid, signal.SIGKILL)
    house.wait_for(lambda: house.services.dead())
    remote.gate.set()
    house.wait_for(lambda: house.call_of(run_id, "success"))
    valkey.restart()
    assert house.end_of(run_id)["status"] == "completed"
    house.stack.wait_ready()
    after = house.stack.chat(house.alice, "call: list_tasks {}").json()
    assert after["tool_calls"][0]["status"] == "success"


def test_postgresql_lost_in_the_middle_of_a_call_keeps_what_was_committed(house: House, remote: Remote) -> None:
    run_id, _ = house.begin(f'call: slow_effect {{"url": "{remote.url}/postgres"}}')
    assert remote.reached.wait(20)
    postgres = house.services.postgres
    assert postgres is not None and postgres.pid is not None
    os.kill(postgres.pid, signal.SIGKILL)
    house.wait_for(lambda: house.services.dead())
    began = time.monotonic()
    postgres.restart()
    remote.gate.set()
    run = house.end_of(run_id)
    assert time.monotonic() - began < 30
    assert run["status"] == "completed"
    call = house.call_of(run_id)
    assert call is not None
    assert (call["status"], call["error_code"]) in {("success", None), ("error", "outcome_unknown")}
    assert remote.hits == ["/postgres"]
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]
    after = house.stack.chat(house.alice, "call: list_tasks {}").json()
    assert after["tool_calls"][0]["status"] == "success"
