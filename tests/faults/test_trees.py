"""Trees of runs whose processes are killed inside the COMMIT of every arrow, and at random: every one of them ends, and
nothing of it is left open, had twice, or spent beyond its limits.

The long suite takes 1,000, a hundred at once; `TREES=150 make faults ARGS=tests/faults/test_trees.py` that many.
"""

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from decimal import Decimal

import pytest

from tests.faults import money, report, trees
from tests.faults.arrows import Holds, Stuck
from tests.faults.client import Client, Request
from tests.faults.decisions import Humans
from tests.faults.deployment import LONG, Deployment
from tests.faults.injections import FAULTS, stopped
from tests.faults.invariants import Findings
from tests.faults.remote import Remote
from tests.faults.trees import HELD, VERDICTS, Held

TREES = int(os.environ.get("TREES") or (1000 if LONG else 12))
ROUNDS = -(-TREES // 100)
# So many at once are held in a COMMIT, with a connection each, and as many go on.
WIDTH = -(-TREES // (2 * ROUNDS))
CONNECTIONS = 20 + WIDTH
# Longer than any step takes.
STILL_SECONDS = 10
NUDGES = 4
pytestmark = [pytest.mark.faults, pytest.mark.timeout(1200 + 10 * TREES)]
_BLOCKED = "SELECT FROM pg_locks WHERE NOT granted AND locktype <> 'advisory'"
Record = Callable[[str, object], None]

# Upon the trees that are begun when those that were held have lost their processes.
MORE = ["kill -9 web", "kill -9 worker", "messages duplicated", "Valkey flushed", "kill -9 PostgreSQL"]
# Of the trees that are not held, a fifth each: by the default agent, with tokens of their own, with money of their own,
# under a budget of requests, and under one of money.
AGENTS = ("", "measured", "costly", "thrifty", "frugal")
# Of agents whose trees are not held: a COMMIT that is held has the budget's row locked.
_TIGHT = """
    INSERT INTO budgets (id, tenant_id, agent_id, unit, period, amount)
    SELECT gen_random_uuid(), tenant_id, id, %s, 'total', %s FROM agents WHERE slug = %s"""
# About what a tree uses that nothing stops.
OF_A_TREE = {"requests": Decimal(10), "usd": Decimal("0.016")}
_UNHURRIED = """
    INSERT INTO tool_settings (id, tenant_id, tool_name, rate, enabled, tier, approvals_needed, approval_seconds)
    SELECT gen_random_uuid(), id, 'subagent', '100000/m', true, '', 1, 86400 FROM tenants ON CONFLICT DO NOTHING"""


@pytest.fixture
def roomy(deployment: Deployment) -> Iterator[None]:
    """As many connections as are held, and as a process has besides."""
    with deployment.set(DATABASE_POOL_SIZE=str(CONNECTIONS)):
        yield


@pytest.fixture
def budgeted(deployment: Deployment) -> Iterator[None]:
    """For `thrifty` requests, and for `frugal` money, for about half of what their trees would use."""
    deployment.change(_UNHURRIED)
    each = -(-ROUNDS * WIDTH // len(AGENTS))
    for slug, unit in (("thrifty", "requests"), ("frugal", "usd")):
        deployment.change(_TIGHT, unit, max(1, each // 2) * OF_A_TREE[unit], slug)
    yield
    deployment.change("DELETE FROM budgets")


class Round:
    """Trees of which half are held, each at an arrow of its own, and lose their processes there."""

    def __init__(self, deployment: Deployment, remote: Remote, holds: Holds, number: int, width: int):
        self.deployment, self.remote, self.holds = deployment, remote, holds
        self.clients: dict[str, Client] = {}
        self.held: dict[int, tuple[str, Held]] = {}
        self.met: list[str] = []
        self.nudged = time.monotonic()
        self.humans = Humans(deployment, {})
        for at in range(width):
            held = HELD[(number * width + at) % len(HELD)]
            key = f"{remote.url[-5:]}-{number}-{at}"
            self.held[holds.hold(key, held.arrow, held.depth)] = key, held
            self._begin(key, held.verdict)

    def _begin(self, key: str, verdict: str, agent: str = "") -> None:
        if verdict:
            self.humans.verdicts[key] = verdict
        chat = {"agent": agent} if agent else {}
        person = random.choice((self.deployment.alice, self.deployment.zoe))
        content = trees.script(self.remote.url, key, verdict)
        self.clients[key] = Client(self.deployment, content, key=key, person=person, wait=20, **chat)

    def kill_in_commits(self) -> None:
        """Wait until each tree that is held has come to its arrow or to its end, kill whoever is in a held COMMIT, and
        let half of those happen."""
        # Each sweep would ask for the same runs again, and wait for the rows that are held, with a connection each.
        with stopped(self.deployment.stack.processes["beat"].pid):
            for _ in range(NUDGES):
                self.nudged = time.monotonic()
                self.deployment.wait_for(lambda: not self._on_their_way() or self._stand_still())
                self._nudge()
        stuck = {number: each for number, each in self.holds.stuck().items() if number in self.held}
        for number in stuck:
            key, held = self.held[number]
            self.met.append(held.name)
            if held.cancels:
                self._cancel(key)
        others = set(self.held) - set(stuck)
        lost = {each.process.removesuffix("-async").removeprefix("toolgate-") for each in stuck.values()}
        for name in lost & {"web", "worker"}:
            self.deployment.stack.kill(name)
        for each in stuck.values():
            self._settle(each)
        for number in others:
            self.holds.release(number)
        for name in lost & {"web", "worker"}:
            self.deployment.stack.start(name)

    def _on_their_way(self) -> set[int]:
        """Which of the held trees have come neither to their arrow nor to their end."""
        over = {row["key"] for row in self.deployment.rows(trees.OVER, [key for key, _ in self.held.values()])}
        return {number for number, (key, _) in self.held.items() if key not in over} - set(self.holds.stuck())

    def _stand_still(self) -> bool:
        """Whether no tree has taken a step for a while."""
        [row] = self.deployment.rows(trees.LAST_STEP, list(self.clients))
        ago = min(time.monotonic() - self.nudged, row["ago"] or 0)
        return ago > STILL_SECONDS

    def _nudge(self) -> None:
        """Do for the trees that are still on their way what a sweep does for runs that have lost their drivers."""
        sender = self.deployment.celery()
        keys = [self.held[number][0] for number in self._on_their_way()]
        for run in self.deployment.rows(trees.OPEN_RUNS, keys):
            sender.send_task("gateway.take_over", args=[str(each) for each in run.values()])

    def _progress(self) -> object:
        """What changes as long as one of these trees goes on."""
        return self.deployment.rows(trees.STEPS, list(self.clients))

    def _cancel(self, key: str) -> None:
        """Cancel the tree while it is held, and return when that waits for the COMMIT, or is done."""
        path = f"/api/v1/runs/{self.deployment.run_of(key)['id']}/cancel"
        cancel = Request(self.deployment, path, person=self.clients[key].person)
        self.deployment.wait_for(lambda: cancel.status is not None or self.deployment.rows(_BLOCKED))

    def _settle(self, stuck: Stuck) -> None:
        if random.random() < 0.5:
            self.holds.let_commit(stuck)
        else:
            self.holds.roll_back(stuck)

    def kill_at_random(self, number: int, width: int) -> None:
        """Begin as many trees that are not held, and do harm while they go on."""
        for at in range(width):
            key = f"{self.remote.url[-5:]}-{number}-free-{at}"
            self._begin(key, random.choice(VERDICTS), AGENTS[at % len(AGENTS)])
        for name in random.sample(MORE, min(len(MORE), 2 + width // 10)):
            self.deployment.wait_for(lambda: self._running() or self._over())
            FAULTS[name](self.deployment)

    def _running(self) -> bool:
        query = "SELECT FROM runs WHERE status = 'in_progress' AND depth > 0 LIMIT 1"
        return bool(self.deployment.rows(query))

    def _over(self) -> bool:
        return all(client.status is not None for client in self.clients.values())

    def check(self) -> Findings:
        """What is found when all trees have come to their ends."""
        self.deployment.wait_for(lambda: all(map(_is_answered, self.clients.values())), while_changes=self._progress)
        # A budget that is spent begins no run.
        begun = [client for client in self.clients.values() if client.body.get("code") != "budget_exhausted"]
        keys = [client.key for client in begun]
        self.deployment.wait_for(lambda: not self.deployment.rows(trees.OPEN, keys), while_changes=self._progress)
        return trees.check(self.deployment, self.remote, begun)


def _is_answered(client: Client) -> bool:
    return client.status is not None


def test_trees_whose_processes_are_killed_at_every_arrow_lose_and_double_nothing(
    deployment: Deployment, remote: Remote, roomy: None, budgeted: None, record_property: Record
) -> None:
    runs = calls = 0
    wrong: list[str] = []
    ends: Counter[str] = Counter()
    met: Counter[str] = Counter()
    limits: Counter[str] = Counter()
    for number in range(ROUNDS):
        deployment.wait_working()
        began = time.monotonic()
        with ExitStack() as humans:
            # Its connection does not survive PostgreSQL.
            with Holds(deployment) as holds:
                taken = Round(deployment, remote, holds, number, WIDTH)
                humans.enter_context(taken.humans)
                taken.kill_in_commits()
            taken.kill_at_random(number, WIDTH)
            found = taken.check()
        runs, calls = runs + found.runs, calls + found.calls
        wrong += found.wrong()
        met.update(taken.met)
        ends.update(str(client.body.get("status", client.status)) for client in taken.clients.values())
        limits.update(money.stopped(deployment, [*taken.clients]))
        if LONG:
            said = (
                f"round {number + 1}: {sum(ends.values())} trees, {len(wrong)} wrong, {time.monotonic() - began:.0f} s"
            )
            print(said, *found.wrong(), sep="\n", file=sys.__stderr__, flush=True)
    wrong += money.beyond(deployment)
    record_property("trees", report.of_trees(met, ends, limits, runs, calls, wrong))
    assert wrong == []
    # Nothing is found where nothing comes to its limits.
    assert TREES < 100 or {"run_usd_spent", "budget_exhausted"} <= set(limits)
    # A busy machine may bring a tree to its end in another way; most come by their arrows.
    assert sum(met.values()) >= TREES // 4
