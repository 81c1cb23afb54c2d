"""Faults under load: no call lost, none had twice, no final status changed, and all of it recovered from in time."""

import pytest

from tests.faults.house import LONG, House
from tests.faults.injections import FAULTS
from tests.faults.storm import storm

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
TIMES = 5


@pytest.mark.parametrize("name", FAULTS if LONG else [])
def test_a_fault_again_and_again(house: House, name: str, record_property: pytest.RecordProperty) -> None:
    outcome = storm(house, name, [FAULTS[name]] * TIMES)
    record_property("storm", (name, TIMES, outcome))
    assert outcome.findings.wrong() == []
    assert max(outcome.recoveries) <= house.lease_seconds + 10


def test_every_fault_upon_the_last(house: House) -> None:
    outcome = storm(house, "all", list(FAULTS.values()), pause=1)
    assert outcome.findings.wrong() == []
    assert max(outcome.recoveries) <= house.lease_seconds + 10
