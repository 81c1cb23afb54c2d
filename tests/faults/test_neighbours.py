"""What one call, one lost look or one locked row must not do to everybody else."""

from threading import Thread

import httpx
import psycopg
import pytest

from tests.faults.arrows import Holds
from tests.faults.client import Client
from tests.faults.decisions import Humans
from tests.faults.house import House
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults


def test_a_slow_database_tool_lets_no_other_lease_run_out(house: House, remote: Remote) -> None:
    beside = Client(house, f'call: slow_effect {{"url": "{remote.url}/held/beside"}}')
    assert remote.reached.wait(PATIENCE_SECONDS)
    slow = Client(house, f'call: slow_note {{"title": "{beside.key}", "asks": {house.lease_seconds * 2 + 2}}}')
    assert house.end_of(slow.key)["status"] == "completed"
    remote.gate.set()
    assert house.end_of(beside.key)["status"] == "completed"
    [call] = house.calls_of(beside.key)
    assert (call["status"], call["error_code"], call["attempt"]) == ("success", None, 1)
    [note] = house.calls_of(slow.key)
    assert (note["status"], note["attempt"]) == ("success", 1)


def test_a_turn_that_is_committed_during_a_look_breaks_nothing(house: House, remote: Remote) -> None:
    urls = f'{{"url": "{remote.url}/first"}}', f'{{"url": "{remote.url}/second"}}'
    answers: list[httpx.Response] = []
    with Holds(house) as holds:
        key = remote.url[-5:] + "-look"
        hold = holds.hold(key, ("tool_calls", None, "queued"))
        client = Client(house, f"call: guarded_effect {urls[0]}\nthen:\ncall: slow_effect {urls[1]}", key=key)
        with Humans(house, {key: "approve"}), psycopg.connect(house.superuser_url) as connection:
            house.wait_for(lambda: hold in holds.stuck())
            # It waits for the COMMIT, and whoever comes after it to read the calls waits for it.
            locker = Thread(target=connection.execute, args=["LOCK TABLE tool_calls IN ACCESS EXCLUSIVE MODE"])
            locker.start()
            house.wait_for(lambda: _waiting(house) == 1)
            path = f"/api/v1/runs/{house.rows('SELECT id FROM runs WHERE idempotency_key = %s', key)[0]['id']}"
            looker = Thread(target=lambda: answers.append(house.stack.get(house.alice, path)))
            looker.start()
            house.wait_for(lambda: _waiting(house) > 1)
            holds.let_commit(holds.stuck()[hold])
            locker.join()
            connection.rollback()
            looker.join()
    assert [answer.status_code for answer in answers] == [200]
    assert house.end_of(key)["status"] == "completed"
    client.join(PATIENCE_SECONDS)
    assert client.status == 200
    assert [call["status"] for call in client.body["tool_calls"]] == ["success", "success"]
    assert remote.effects == {"/first": 1, "/second": 1}


def _waiting(house: House) -> int:
    waiting = """SELECT count(DISTINCT pid) AS n FROM pg_locks
        WHERE NOT granted AND relation = 'tool_calls'::regclass"""
    return int(house.rows(waiting)[0]["n"])
