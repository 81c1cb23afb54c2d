"""`kill -9` in the middle of a call: nothing is lost, nothing happens twice, and what cannot be known is said."""

import signal
import time

import psycopg
import pytest

from tests.faults.client import Client
from tests.faults.house import LONG, House
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults
# Nobody can be reached there; what is written to be sent counts.
TARGET = """
    INSERT INTO notification_targets (id, tenant_id, channel, name, destination, secret, events, enabled,
        disabled_because)
    SELECT gen_random_uuid(), id, 'webhook', '', 'https://hooks.invalid/', '', '{run.completed}', true, ''
    FROM tenants WHERE slug = 'demo'"""


def test_a_worker_lost_inside_a_database_tool_costs_nothing(house: House) -> None:
    client = Client(house, 'call: slow_note {"title": "slow", "seconds": 2}')
    house.wait_for(lambda: house.notes_under_way() == 1)
    house.stack.kill("worker")
    assert house.rows("SELECT * FROM notes WHERE title = 'slow'") == []
    house.stack.start("worker")
    assert house.end_of(client.key)["status"] == "completed"
    [call] = house.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert len(house.rows("SELECT * FROM notes WHERE title = 'slow'")) == 1
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_worker_lost_after_an_effect_may_have_begun_is_never_retried(house: House, remote: Remote) -> None:
    client = Client(house, f'call: slow_effect {{"url": "{remote.url}/held/effect"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    house.stack.kill("worker")
    remote.gate.set()
    house.stack.start("worker")
    assert house.end_of(client.key)["status"] == "completed"
    [call] = house.calls_of(client.key)
    assert (call["status"], call["error_code"]) == ("error", "outcome_unknown")
    assert remote.effects == {"/held/effect": 1}
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_lookup_whose_worker_is_lost_is_made_again(house: House, remote: Remote) -> None:
    client = Client(house, f'call: slow_lookup {{"url": "{remote.url}/held/look"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    house.stack.kill("worker")
    remote.gate.set()
    house.stack.start("worker")
    assert house.end_of(client.key)["status"] == "completed"
    [call] = house.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 2)


def test_a_worker_stopped_past_its_lease_and_woken_changes_nothing(house: House, remote: Remote) -> None:
    client = Client(house, f'call: slow_effect {{"url": "{remote.url}/held/late"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    house.send_signal("worker", signal.SIGSTOP)
    sleeper = house.stack.processes.pop("worker")
    house.stack.start("worker")
    house.wait_for(lambda: _statuses(house, client) == ["error"])
    [call] = house.calls_of(client.key)
    assert call["error_code"] == "outcome_unknown"
    remote.gate.set()
    sleeper.send_signal(signal.SIGCONT)
    assert house.end_of(client.key)["status"] == "completed"
    house.wait_for(lambda: "claim lost" in house.stack.log("worker"))
    assert house.calls_of(client.key) == [call]
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]
    sleeper.kill()
    sleeper.wait(PATIENCE_SECONDS)


def test_a_run_whose_web_process_is_lost_is_taken_over_by_a_worker(house: House, remote: Remote) -> None:
    with psycopg.connect(house.services.database_owner_url) as owner:
        owner.execute(TARGET)
    client = Client(house, f'call: slow_lookup {{"url": "{remote.url}/held/web"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    house.stack.kill("web")
    remote.gate.set()
    run = house.end_of(client.key)
    assert (run["status"], run["fence"]) == ("completed", 2)
    sent = house.rows("SELECT event FROM notifications WHERE subject_id = %s", run["id"])
    assert sent == [{"event": "run.completed"}]
    [call] = house.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 1)
    house.stack.start("web")
    house.stack.wait_ready()
    client.join(PATIENCE_SECONDS)
    assert (client.status, client.body["status"]) == (200, "completed")
    assert client.body["run_id"] == str(run["id"])
    assert client.body["content"] != ""
    events = house.stack.get(house.alice, f"/api/v1/runs/{run['id']}/events").text
    assert events.count("event: run.completed") == 1


def test_valkey_lost_with_everything_in_it_loses_no_call(house: House, remote: Remote) -> None:
    client = Client(house, f'call: slow_lookup {{"url": "{remote.url}/held/redis"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    valkey = house.end_service("valkey")
    remote.gate.set()
    house.wait_for(lambda: _statuses(house, client) == ["success"])
    valkey.restart()
    assert house.end_of(client.key)["status"] == "completed"
    assert [(call["status"], call["attempt"]) for call in house.calls_of(client.key)] == [("success", 1)]
    house.stack.wait_ready()
    after = house.stack.chat(house.alice, "call: list_tasks {}").json()
    assert after["tool_calls"][0]["status"] == "success"


def test_postgresql_lost_in_the_middle_of_a_call_keeps_what_was_committed(house: House, remote: Remote) -> None:
    client = Client(house, f'call: slow_effect {{"url": "{remote.url}/held/postgres"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    began = time.monotonic()
    house.end_service("postgres").restart()
    remote.gate.set()
    run = house.end_of(client.key)
    # How fast it recovers is for the long suite to say, on a machine that does nothing else.
    assert not LONG or time.monotonic() - began < house.lease_seconds + 10
    assert run["status"] == "completed"
    [call] = house.calls_of(client.key)
    assert (call["status"], call["error_code"]) in {("success", None), ("error", "outcome_unknown")}
    assert remote.effects == {"/held/postgres": 1}
    assert house.ledger_of(call["id"]) == ["proposed", "settled"]
    after = house.stack.chat(house.alice, "call: list_tasks {}").json()
    assert after["tool_calls"][0]["status"] == "success"


def _statuses(house: House, client: Client) -> list[str]:
    return [call["status"] for call in house.calls_of(client.key)]
