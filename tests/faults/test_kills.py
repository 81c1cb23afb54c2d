"""`kill -9` in the middle of a call: nothing is lost, nothing happens twice, and what cannot be known is said."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.faults.client import Client
from tests.faults.deployment import LONG, Deployment
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults
# Nobody can be reached there; what is written to be sent counts.
TARGET = """
    INSERT INTO notification_targets (id, tenant_id, channel, name, destination, secret, events, enabled,
        disabled_because)
    SELECT gen_random_uuid(), id, 'webhook', '', 'https://hooks.invalid/', '', '{run.completed}', true, ''
    FROM tenants WHERE slug = 'demo'"""


def test_a_worker_lost_inside_a_database_tool_costs_nothing(deployment: Deployment, tmp_path: Path) -> None:
    client = Client(deployment, f'call: slow_note {{"title": "slow", "until": "{tmp_path}/now"}}')
    deployment.wait_for(lambda: deployment.notes_under_way() == 1)
    deployment.stack.kill("worker")
    (tmp_path / "now").touch()
    assert deployment.rows("SELECT * FROM notes WHERE title = 'slow'") == []
    deployment.stack.start("worker")
    assert deployment.end_of(client.key)["status"] == "completed"
    [call] = deployment.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 1)
    assert len(deployment.rows("SELECT * FROM notes WHERE title = 'slow'")) == 1
    assert deployment.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_worker_lost_after_an_effect_may_have_begun_is_never_retried(deployment: Deployment, remote: Remote) -> None:
    client = Client(deployment, f'call: slow_effect {{"url": "{remote.url}/held/effect"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    deployment.stack.kill("worker")
    remote.gate.set()
    deployment.stack.start("worker")
    assert deployment.end_of(client.key)["status"] == "completed"
    [call] = deployment.calls_of(client.key)
    assert (call["status"], call["error_code"]) == ("error", "outcome_unknown")
    assert remote.effects == {"/held/effect": 1}
    assert deployment.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_lookup_whose_worker_is_lost_is_made_again(deployment: Deployment, remote: Remote) -> None:
    client = Client(deployment, f'call: slow_lookup {{"url": "{remote.url}/held/look"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    deployment.stack.kill("worker")
    remote.gate.set()
    deployment.stack.start("worker")
    assert deployment.end_of(client.key)["status"] == "completed"
    [call] = deployment.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 2)


def test_a_worker_stopped_past_its_lease_and_woken_changes_nothing(deployment: Deployment, remote: Remote) -> None:
    client = Client(deployment, f'call: slow_effect {{"url": "{remote.url}/held/late"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    deployment.send_signal("worker", signal.SIGSTOP)
    sleeper = deployment.stack.processes.pop("worker")
    deployment.stack.start("worker")
    try:
        deployment.wait_for(lambda: _statuses(deployment, client) == ["error"])
        [call] = deployment.calls_of(client.key)
        assert call["error_code"] == "outcome_unknown"
        remote.gate.set()
        sleeper.send_signal(signal.SIGCONT)
        assert deployment.end_of(client.key)["status"] == "completed"
        deployment.wait_for(lambda: "claim lost" in deployment.stack.log("worker"))
        assert deployment.calls_of(client.key) == [call]
        assert deployment.ledger_of(call["id"]) == ["proposed", "settled"]
    finally:
        sleeper.kill()
        sleeper.wait(PATIENCE_SECONDS)


def test_a_run_whose_web_process_is_lost_is_taken_over_by_a_worker(deployment: Deployment, remote: Remote) -> None:
    with psycopg.connect(deployment.services.database_owner_url) as owner:
        owner.execute(TARGET)
    client = Client(deployment, f'call: slow_lookup {{"url": "{remote.url}/held/web"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    deployment.stack.kill("web")
    remote.gate.set()
    run = deployment.end_of(client.key)
    # A worker of a busy machine may lose it, too.
    assert (run["status"], run["fence"] >= 2) == ("completed", True)
    sent = deployment.rows("SELECT event FROM notifications WHERE subject_id = %s", run["id"])
    assert sent == [{"event": "run.completed"}]
    [call] = deployment.calls_of(client.key)
    assert (call["status"], call["attempt"]) == ("success", 1)
    deployment.stack.start("web")
    deployment.stack.wait_ready()
    client.join(PATIENCE_SECONDS)
    assert (client.status, client.body["status"]) == (200, "completed")
    assert client.body["run_id"] == str(run["id"])
    assert client.body["content"] != ""
    events = deployment.stack.get(deployment.alice, f"/api/v1/runs/{run['id']}/events").text
    assert events.count("event: run.completed") == 1


def test_valkey_lost_with_everything_in_it_loses_no_call(deployment: Deployment, remote: Remote) -> None:
    client = Client(deployment, f'call: slow_lookup {{"url": "{remote.url}/held/redis"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    valkey = deployment.end_service("valkey")
    remote.gate.set()
    deployment.wait_for(lambda: _statuses(deployment, client) == ["success"])
    valkey.restart()
    assert deployment.end_of(client.key)["status"] == "completed"
    assert [(call["status"], call["attempt"]) for call in deployment.calls_of(client.key)] == [("success", 1)]
    deployment.stack.wait_ready()
    after = deployment.stack.chat(deployment.alice, "call: list_tasks {}").json()
    assert after["tool_calls"][0]["status"] == "success"


def test_postgresql_lost_in_the_middle_of_a_call_keeps_what_was_committed(
    deployment: Deployment, remote: Remote
) -> None:
    client = Client(deployment, f'call: slow_effect {{"url": "{remote.url}/held/postgres"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    began = time.monotonic()
    deployment.end_service("postgres").restart()
    remote.gate.set()
    run = deployment.end_of(client.key)
    # How fast it recovers is for the long suite to say, on a machine that does nothing else.
    assert not LONG or time.monotonic() - began < deployment.lease_seconds + 10
    assert run["status"] == "completed"
    [call] = deployment.calls_of(client.key)
    assert (call["status"], call["error_code"]) in {("success", None), ("error", "outcome_unknown")}
    assert remote.effects == {"/held/postgres": 1}
    assert deployment.ledger_of(call["id"]) == ["proposed", "settled"]
    after = deployment.stack.chat(deployment.alice, "call: list_tasks {}").json()
    assert after["tool_calls"][0]["status"] == "success"


def _statuses(deployment: Deployment, client: Client) -> list[str]:
    return [call["status"] for call in deployment.calls_of(client.key)]


def test_a_call_that_has_begun_outlives_the_database_though_nobody_was_told_of_its_run(
    deployment: Deployment, remote: Remote
) -> None:
    # Without a key the run and its turn do not wait for the disk: the claim of the call does, after them.
    words = f'call: slow_effect {{"url": "{remote.url}/held/untold"}}'
    with ThreadPoolExecutor() as client:
        answer = client.submit(deployment.stack.chat, deployment.alice, words)
        assert remote.reached.wait(PATIENCE_SECONDS)
        deployment.end_service("postgres").restart()
        remote.gate.set()
        body = answer.result().json()
    assert (answer.result().status_code, body["status"]) == (200, "completed")
    [call] = deployment.rows("SELECT * FROM tool_calls WHERE run_id = %s", body["run_id"])
    assert (call["status"], call["error_code"]) in {("success", None), ("error", "outcome_unknown")}
    assert remote.effects == {"/held/untold": 1}
    assert deployment.ledger_of(call["id"]) == ["proposed", "settled"]


def test_a_run_that_is_lost_with_the_database_is_told_of_and_has_done_nothing(
    deployment: Deployment, tmp_path: Path
) -> None:
    words = f'call: slow_note {{"title": "untold", "until": "{tmp_path}/now"}}'
    with ThreadPoolExecutor() as client:
        answer = client.submit(deployment.stack.chat, deployment.alice, words)
        deployment.wait_for(lambda: deployment.notes_under_way() == 1)
        deployment.end_service("postgres").restart()
        (tmp_path / "now").touch()
        status, body = answer.result().status_code, answer.result().json()
    runs = deployment.rows("SELECT r.status FROM runs r JOIN messages m ON m.run_id = r.id WHERE m.content = %s", words)
    notes = deployment.rows("SELECT * FROM notes WHERE title = 'untold'")
    if status == 503:
        assert (body["code"], runs, notes) == ("run_lost", [], [])
    else:
        # It was on disk: somebody else had committed in that moment.
        assert (status, body["status"], len(runs), len(notes)) == (200, "completed", 1, 1)
