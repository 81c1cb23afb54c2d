"""What one call, one lost look or one locked row must not do to everybody else."""

import pytest

from tests.faults.client import Client
from tests.faults.house import House
from tests.faults.remote import Remote

pytestmark = pytest.mark.faults


def test_a_slow_database_tool_lets_no_other_lease_run_out(house: House, remote: Remote) -> None:
    beside = Client(house, f'call: slow_effect {{"url": "{remote.url}/held/beside"}}')
    assert remote.reached.wait(20)
    slow = Client(house, f'call: slow_note {{"title": "{beside.key}", "seconds": {house.lease_seconds * 2 + 2}}}')
    assert house.end_of(slow.key)["status"] == "completed"
    remote.gate.set()
    assert house.end_of(beside.key)["status"] == "completed"
    [call] = house.calls_of(beside.key)
    assert (call["status"], call["error_code"], call["attempt"]) == ("success", None, 1)
    [note] = house.calls_of(slow.key)
    assert (note["status"], note["attempt"]) == ("success", 1)
