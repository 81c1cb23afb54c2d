"""A load, one kind of fault again and again, and what became of all of it."""

import time
from dataclasses import dataclass

from tests.faults.deployment import Deployment
from tests.faults.injections import Fault
from tests.faults.invariants import FINAL_CALL, FINAL_RUN, Findings, look
from tests.faults.load import Load
from tests.faults.remote import Remote

# The longest that a remote of the load takes to answer.
REMOTE_SECONDS = 0.2
FINAL = [*FINAL_CALL, *FINAL_RUN, "requires_action", "awaiting_approval"]
_UNDER_WAY = "SELECT count(*) AS n FROM tool_calls WHERE status = 'running'"
# What was open at a moment: how much of it still is, and when the last of the rest came to its end.
# What waits for a human is recovered too, as soon as it waits again.
_OPEN_AT = """
    SELECT count(*) FILTER (WHERE ended IS NULL) AS open, max(ended) AS last FROM (
        SELECT min(at) AS began, max(at) FILTER (WHERE after = ANY(%s)) AS ended FROM fault_journal
        WHERE "table" IN ('tool_calls', 'runs') GROUP BY "table", id) rows
    WHERE began < to_timestamp(%s) AND (ended IS NULL OR ended > to_timestamp(%s))"""


@dataclass
class Outcome:
    """What was found at a storm's end, and how many seconds each injection's recovery took."""

    findings: Findings
    recoveries: list[float]


def storm(deployment: Deployment, faults: list[Fault], pause: float | None = None) -> Outcome:
    """Inject the faults, one after another, into a load; without `pause` each only when the last is recovered from.

    Recovery is from the injection until every run and call that was open then is final, or waits for a human.
    """
    remote = Remote(REMOTE_SECONDS)
    recoveries = []
    with Load(deployment, remote) as load:
        deployment.wait_for(lambda: len(load.clients) > 20)
        for fault in faults:
            deployment.wait_for(lambda: deployment.rows(_UNDER_WAY)[0]["n"] > 1)
            began = time.time()
            since = fault(deployment) or began
            if pause is None:
                recoveries.append(_recovery(deployment, began, since))
            else:
                time.sleep(pause)
        if pause is not None:
            recoveries.append(_recovery(deployment, began, since))
    findings = look(deployment, remote, load.clients, load.decisions)
    remote.close()
    return Outcome(findings, recoveries)


def _recovery(deployment: Deployment, began: float, since: float) -> float:
    rows = deployment.wait_for(
        lambda: [row for row in deployment.rows(_OPEN_AT, FINAL, began, began) if not row["open"]]
    )
    return max(0.0, rows[0]["last"].timestamp() - since) if rows[0]["last"] else 0.0
