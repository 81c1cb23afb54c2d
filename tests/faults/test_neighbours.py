"""What one call, one lost look or one locked row must not do to everybody else."""

from threading import Thread

import httpx
import psycopg
import pytest

from tests.faults.arrows import Holds
from tests.faults.client import Client
from tests.faults.decisions import Humans
from tests.faults.deployment import Deployment
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults


def test_a_slow_database_tool_lets_no_other_lease_run_out(deployment: Deployment, remote: Remote) -> None:
    beside = Client(deployment, f'call: slow_effect {{"url": "{remote.url}/held/beside"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    slow = Client(
        deployment, f'call: slow_note {{"title": "{beside.key}", "asks": {deployment.lease_seconds * 2 + 2}}}'
    )
    assert deployment.end_of(slow.key)["status"] == "completed"
    remote.gate.set()
    assert deployment.end_of(beside.key)["status"] == "completed"
    [call] = deployment.calls_of(beside.key)
    assert (call["status"], call["error_code"], call["attempt"]) == ("success", None, 1)
    [note] = deployment.calls_of(slow.key)
    assert (note["status"], note["attempt"]) == ("success", 1)


def test_a_turn_that_is_committed_during_a_look_breaks_nothing(deployment: Deployment, remote: Remote) -> None:
    urls = f'{{"url": "{remote.url}/first"}}', f'{{"url": "{remote.url}/second"}}'
    answers: list[httpx.Response] = []
    with Holds(deployment) as holds:
        key = remote.url[-5:] + "-look"
        hold = holds.hold(key, ("tool_calls", None, "queued"))
        client = Client(deployment, f"call: guarded_effect {urls[0]}\nthen:\ncall: slow_effect {urls[1]}", key=key)
        with Humans(deployment, {key: "approve"}), psycopg.connect(deployment.superuser_url) as connection:
            deployment.wait_for(lambda: hold in holds.stuck())
            locker_pid = connection.info.backend_pid
            # It waits for the COMMIT, and whoever comes after it to read the calls waits for it.
            locker = Thread(target=connection.execute, args=["LOCK TABLE tool_calls IN ACCESS EXCLUSIVE MODE"])
            locker.start()
            deployment.wait_for(lambda: locker_pid in _waiting(deployment))
            path = f"/api/v1/runs/{deployment.rows('SELECT id FROM runs WHERE idempotency_key = %s', key)[0]['id']}"
            others = _waiting(deployment).keys()
            looker = Thread(target=lambda: answers.append(deployment.stack.get(deployment.alice, path)))
            looker.start()
            deployment.wait_for(
                lambda: any(
                    pid not in others and name.startswith("toolgate-web") for pid, name in _waiting(deployment).items()
                )
            )
            holds.let_commit(holds.stuck()[hold])
            locker.join()
            connection.rollback()
            looker.join()
    assert [answer.status_code for answer in answers] == [200]
    assert deployment.end_of(key)["status"] == "completed"
    client.join(PATIENCE_SECONDS)
    assert client.status == 200
    assert [call["status"] for call in client.body["tool_calls"]] == ["success", "success"]
    assert remote.effects == {"/first": 1, "/second": 1}


def _waiting(deployment: Deployment) -> dict[int, str]:
    """The backends that wait to read or lock calls, each with its process; the sweeper's may be among them."""
    waiting = """SELECT pid, application_name AS process FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE NOT granted AND relation = 'tool_calls'::regclass"""
    return {row["pid"]: row["process"] for row in deployment.rows(waiting)}
