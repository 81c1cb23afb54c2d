"""Faults under load: no call lost, none had twice, no final status changed, and all of it recovered from in time."""

from collections.abc import Callable

import pytest

from tests.faults import report
from tests.faults.deployment import LONG, Deployment
from tests.faults.injections import FAULTS, LASTING
from tests.faults.storm import storm

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1200)]
Record = Callable[[str, object], None]
TIMES = 3


def test_every_fault_upon_the_last(deployment: Deployment, record_property: Record) -> None:
    faults = [fault for name, fault in FAULTS.items() if LONG or name not in LASTING]
    outcome = storm(deployment, faults, pause=1)
    record_property("storm", report.line("each upon the last", len(faults), outcome))
    assert outcome.findings.wrong() == []


if LONG:

    @pytest.mark.parametrize("name", FAULTS)
    def test_a_fault_again_and_again(deployment: Deployment, name: str, record_property: Record) -> None:
        outcome = storm(deployment, [FAULTS[name]] * TIMES)
        record_property("storm", report.line(name, TIMES, outcome))
        assert outcome.findings.wrong() == []
        assert max(outcome.recoveries) <= deployment.lease_seconds + 10
