"""Trees of runs, three levels deep: what each of them does, and what must be true of their rows at the end."""

import json
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.faults import money
from tests.faults.client import Client
from tests.faults.deployment import Deployment
from tests.faults.invariants import FINAL_RUN, Findings, look
from tests.faults.journal import Arrow
from tests.faults.remote import Remote

VERDICTS = ("", "", "approve", "approve", "deny", "cancel", "expire", "end", "end all")
# Runs of a tree: the root, its two children, one of whose has another, which has one more.
RUNS = 5


@dataclass(frozen=True)
class Held:
    """An arrow that a run of a tree takes, at the depth of that run; `verdict`: of the humans who are asked in it.

    `cancels`: the tree is cancelled while the arrow is in its COMMIT.
    """

    arrow: Arrow
    depth: int = 0
    verdict: str = ""
    cancels: bool = False

    @property
    def name(self) -> str:
        """What it is called in the table."""
        table, before, after = self.arrow
        against = ", against a cancel" if self.cancels else ""
        return f"{table} {before or 'new'} -> {after} at {self.depth}{against}"


HELD = (
    Held(("runs", None, "in_progress"), 1),
    Held(("runs", None, "in_progress"), 3),
    Held(("runs", "in_progress", "waiting"), 0),
    Held(("runs", "in_progress", "waiting"), 2),
    Held(("runs", "in_progress", "completed"), 1),
    Held(("runs", "in_progress", "completed"), 3),
    Held(("runs", "in_progress", "completed"), 2, cancels=True),
    Held(("runs", "waiting", "in_progress"), 0),
    Held(("runs", "waiting", "in_progress"), 2),
    Held(("runs", "in_progress", "requires_action"), 3, "approve"),
    Held(("approval_requests", None, "pending"), 3, "deny"),
    Held(("approval_requests", "pending", "approved"), 3, "approve"),
    Held(("approval_requests", "pending", "approved"), 3, "approve", cancels=True),
    Held(("runs", "requires_action", "in_progress"), 3, "approve"),
    Held(("runs", "requires_action", "cancelled"), 3, "end"),
    Held(("runs", "waiting", "cancelled"), 0, "end all"),
)


def script(url: str, key: str, verdict: str) -> str:
    """What the root of a tree is told; with a verdict, the lowest run and sometimes another one ask humans."""
    asks = random.random() < 0.3

    def effect(place: str, guarded: bool = False) -> str:
        name = "guarded_effect" if guarded else "slow_effect"
        return f"call: {name} {json.dumps({'url': f'{url}/{key}-{place}'})}"

    lowest = _child(effect("lowest", bool(verdict)), "then:", effect("lowest-then"))
    middle = _child(lowest, f"call: slow_note {json.dumps({'title': f'{key}-note'})}")
    deep = _child(middle, "then:", effect("deep-then"))
    other = _child(effect("other", bool(verdict) and asks))
    return "\n".join([deep, other, effect("root"), "then:", effect("root-then")])


def _child(*lines: str) -> str:
    return "call: subagent " + json.dumps({"task": "\n".join(lines)})


# A child that was open after the commit in which its parent ended.
_ORPHANS = """
    WITH ends AS (SELECT DISTINCT ON (run_id) run_id, seq, transaction FROM fault_journal
        WHERE "table" = 'runs' AND after = ANY(%s) AND run_id = ANY(%s) ORDER BY run_id, seq DESC)
    SELECT c.id FROM runs c JOIN ends parent ON parent.run_id = c.parent_run_id
    LEFT JOIN ends child ON child.run_id = c.id
    WHERE c.id = ANY(%s) AND (child.seq IS NULL OR child.seq > parent.seq
        AND child.transaction <> parent.transaction)"""
_BELOW = """
    SELECT r.id, r.root_run_id, r.status, r.depth, r.turns, r.profile, r.spent_ms, p.profile AS of_parent,
        run_tokens(r.id) AS tokens, run_usd(r.id) AS usd,
        c.id AS call_id, c.status AS call_status, c.error_code, c.waits_on_run, c.attempt
    FROM runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id) LEFT JOIN runs p ON p.id = r.parent_run_id
    LEFT JOIN tool_calls c ON c.id = r.parent_call_id WHERE root.idempotency_key = ANY(%s)"""
# What is not over of the trees that these keys began.
OPEN = """
    SELECT r.id FROM runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id)
    LEFT JOIN tool_calls c ON c.run_id = r.id
    WHERE root.idempotency_key = ANY(%s) AND (r.finished_at IS NULL OR c.id IS NOT NULL AND c.finished_at IS NULL)"""
# Which of the trees that these keys began have come to their end.
OVER = "SELECT idempotency_key AS key FROM runs WHERE idempotency_key = ANY(%s) AND finished_at IS NOT NULL"
# How many steps those trees have taken.
_JOURNAL = """fault_journal j JOIN runs r ON r.id = j.run_id
    JOIN runs root ON root.id = coalesce(r.root_run_id, r.id) WHERE root.idempotency_key = ANY(%s)"""
STEPS = f"SELECT count(*) FROM {_JOURNAL}"
# How many seconds ago the last one was; NULL before the first.
LAST_STEP = f"SELECT extract(epoch FROM clock_timestamp() - max(at)) AS ago FROM {_JOURNAL}"
OPEN_RUNS = """
    SELECT r.tenant_id, r.user_id, r.id FROM runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id)
    WHERE root.idempotency_key = ANY(%s) AND r.finished_at IS NULL"""
_NOT_WAITING = """
    SELECT a.id FROM approval_requests a JOIN tool_calls c ON c.id = a.call_id
    WHERE a.run_id = ANY(%s) AND a.status = 'pending' AND c.status <> 'awaiting_approval'"""
_RESERVED = "SELECT run_id FROM turn_reservations WHERE run_id = ANY(%s)"
# What a run that came to this end has made of the call that began it.
_ENDED = {"completed": "success", "incomplete": "success", "failed": "error", "cancelled": "error"}


def check(deployment: Deployment, remote: Remote, clients: list[Client]) -> Findings:
    """Compare the rows of all trees, as `look` does those of runs, and what only trees can get wrong."""
    keys = [client.key for client in clients]
    found = look(deployment, remote, clients)
    below = deployment.rows(_BELOW, keys)
    ids = [run["id"] for run in below]
    orphans = deployment.rows(_ORPHANS, [*FINAL_RUN], ids, ids)
    found.others += [f"run {run['id']} was open when its parent was over" for run in orphans]
    for run in below:
        found.others += _of_run(run)
    found.others += [f"request {each['id']} waits for nothing" for each in deployment.rows(_NOT_WAITING, ids)]
    found.others += [f"run {each['run_id']} has a turn reserved" for each in deployment.rows(_RESERVED, ids)]
    found.others += money.of_trees(deployment, keys)
    return found


def _of_run(run: dict[str, Any]) -> list[str]:
    profile, above = run["profile"], run["of_parent"]
    wrong = []
    if run["turns"] > profile["max_turns"]:
        wrong.append(f"run {run['id']} had {run['turns']} turns of {profile['max_turns']}")
    for unit, used in (("tokens", run["tokens"]), ("usd", run["usd"])):
        most = _limit(profile, unit)
        if used > most:
            wrong.append(f"run {run['id']} and those below it used {used} {unit} of {most}")
        if above is not None and (had := _limit(above, unit)).is_finite() and most >= had:
            wrong.append(f"run {run['id']} was given {most} {unit} by one that had {had}")
    if above is None:
        return wrong
    if profile["max_turns"] >= above["max_turns"] or profile["max_seconds"] > above["max_seconds"]:
        wrong.append(f"run {run['id']} was given more than the run above it has")
    if run["waits_on_run"] != run["id"]:
        wrong.append(f"run {run['id']} was begun by call {run['call_id']}, which waited for {run['waits_on_run']}")
    if run["call_status"] != _ENDED.get(run["status"]):
        wrong.append(f"run {run['id']} is {run['status']}, and call {run['call_id']} {run['call_status']}")
    return wrong


def _limit(profile: dict[str, Any], unit: str) -> Decimal:
    """How much of it a run may use with all below it; infinity without a limit."""
    most = profile.get(f"max_run_{unit}")
    return Decimal("inf") if most is None else Decimal(most)
