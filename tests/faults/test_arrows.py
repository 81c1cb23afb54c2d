"""Every arrow of the state machines, its process killed or its connection cut inside the arrow's COMMIT.

Half of the COMMITs are rolled back, the others are done, and in neither case has the process heard of it. The long
suite also has each arrow's other half.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults import cases, invariants
from tests.faults.arrows import Holds, Stuck, unanswered_commits
from tests.faults.cases import BATCHES, Batch, Case, Ending
from tests.faults.client import Client, Request
from tests.faults.decisions import Humans
from tests.faults.deployment import LONG, Deployment
from tests.faults.injections import stopped
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.faults


@pytest.fixture
def holds(deployment: Deployment) -> Iterator[Holds]:
    """Nothing held yet."""
    with Holds(deployment) as none:
        yield none


@pytest.fixture
def frozen() -> Iterator[ExitStack]:
    """Keeps processes stopped until it is closed."""
    with ExitStack() as until_closed:
        yield until_closed


class Taken:
    """The cases' runs, on their way to where they are held: `fates` by hold."""

    def __init__(
        self, deployment: Deployment, holds: Holds, remote: Remote, frozen: ExitStack, batch: Batch, half: int
    ):
        self.deployment, self.holds, self.remote, self.batch = deployment, holds, remote, batch
        self.clients: list[tuple[Client, Case, str]] = []
        self.fates: dict[int, str] = {}
        self.frozen = frozen
        # What the notes wait for.
        self.until = Path(tempfile.mkdtemp(prefix="toolgate-until-")) / "now"
        deployment.wait_working()
        if batch.unswept or batch.lost:
            self.frozen.enter_context(stopped(deployment.stack.processes["beat"].pid))
        # Those that need several tries before the others, which then wait for nothing.
        for number, case in sorted(enumerate(batch.cases), key=lambda each: not each[1].hurries):
            self._begin(case, f"{remote.url[-5:]}-{number}", cases.FATES[(number + half) % 2])
        for client, case, _ in self.clients:
            if case.cancels:
                deployment.wait_for(partial(remote.effects.get, f"/held/{client.key}"))
                Request(deployment, f"/api/v1/runs/{deployment.run_of(client.key)['id']}/cancel")
        self.humans = Humans(deployment, {client.key: case.verdict for client, case, _ in self.clients if case.verdict})

    def _begin(self, case: Case, name: str, fate: str) -> None:
        for tries in count():
            if case.hurries:
                self.deployment.change("UPDATE agents SET max_seconds = %s WHERE slug = 'hasty'", 2 << tries)
            key = f"{name}-{tries}"
            hold = self.holds.hold(key, case.arrow)
            content = case.content.format(url=self.remote.url, name=key, until=self.until)
            client = Client(self.deployment, content, key=key, **case.chat)
            if not case.hurries or self._reaches_its_call(client, hold):
                self.fates[hold] = fate
                self.clients.append((client, case, fate))
                return
            # On a machine this busy its time was over before the call began: once more, with twice the time.
            self.holds.release(hold)

    def _reaches_its_call(self, client: Client, hold: int) -> bool:
        """Whether the run's call is under way; if not, its time is over."""
        path = f"/held/{client.key}"

        def over() -> bool:
            return hold in self.holds.stuck() or bool(self.deployment.run_of(client.key).get("finished_at"))

        self.deployment.wait_for(lambda: self.remote.effects.get(path) or over())
        return bool(self.remote.effects.get(path))

    def lose(self, name: str) -> None:
        """Kill a process while every call is under way, and its effect where it has one, and start it again."""
        running = """
            SELECT c.status, c.input ->> 'url' AS url FROM tool_calls c JOIN runs r ON r.id = c.run_id
            WHERE r.idempotency_key = ANY(%s) AND c.status = 'running'"""
        keys = [client.key for client, _, _ in self.clients]

        def under_way() -> bool:
            found = self.deployment.rows(running, keys)
            urls = [call["url"] for call in found if call["status"] == "running" and call["url"]]
            begun = len(found) + self.deployment.notes_under_way()
            return begun == len(keys) and all(self.remote.effects[urlsplit(url).path] for url in urls)

        self.deployment.wait_for(under_way)
        self.deployment.restart(name)
        self.frozen.close()
        self.remote.gate.set()
        self.until.touch()

    def all_stuck(self) -> list[Stuck]:
        """Each of them, once it waits inside its COMMIT."""
        try:
            self.deployment.wait_for(lambda: self.fates.keys() <= self.holds.stuck().keys())
        except TimeoutError:
            missing = self.fates.keys() - self.holds.stuck().keys()
            states = {
                case.name: [self.deployment.run_of(client.key), self.deployment.calls_of(client.key)]
                for (client, case, _), number in zip(self.clients, self.fates, strict=True)
                if number in missing
            }
            raise AssertionError(f"never stuck: {states}") from None
        return list(self.holds.stuck().values())

    def settle(self, stuck: list[Stuck]) -> None:
        """Let fate have its way with those that are stuck, whose process is dead."""
        for each in stuck:
            if self.fates[each.number] == "committed":
                self.holds.let_commit(each)
            else:
                self.holds.roll_back(each)

    def cut(self, stuck: list[Stuck]) -> None:
        """The same where the process lives, and hears no more than that its connection ended."""
        for each in stuck:
            if self.fates[each.number] == "rolled back":
                self.holds.roll_back(each)
        committed = [each for each in stuck if self.fates[each.number] == "committed"]
        with unanswered_commits(self.deployment) as waiting:
            for each in committed:
                self.holds.let_commit(each)
            self.deployment.wait_for(lambda: waiting() >= {each.pid for each in committed})

    def check(self) -> None:
        """Every run has come to the end that its case foresees, and every invariant holds."""
        for client, _, _ in self.clients:
            self.deployment.end_of(client.key)
        self.remote.gate.set()
        for client, _, _ in self.clients:
            self.deployment.wait_for(partial(self._settled, client.key))
            client.join(PATIENCE_SECONDS)
        ended = {(case.name, fate): self._ending(client) for client, case, fate in self.clients}
        assert ended == {(case.name, fate): case.endings[fate] for _, case, fate in self.clients}
        assert invariants.look(self.deployment, self.remote, [client for client, _, _ in self.clients]).wrong() == []

    def _settled(self, key: str) -> bool:
        return all(call["finished_at"] for call in self.deployment.calls_of(key))

    def _ending(self, client: Client) -> Ending:
        deployment, key = self.deployment, client.key
        calls = tuple(f"{call['error_code'] or call['status']} {call['attempt']}" for call in deployment.calls_of(key))
        notes = deployment.rows("SELECT FROM notes WHERE title IN (%s, %s)", key, f"{key} second")
        effects = sum(count for path, count in self.remote.effects.items() if path.endswith(f"/{key}"))
        return Ending(calls, len(notes) + effects, deployment.end_of(key)["status"])


HALVES = [0, 1] if LONG else [0]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", BATCHES)
def test_a_process_killed_inside_a_commit_loses_and_doubles_nothing(
    deployment: Deployment, holds: Holds, remote: Remote, frozen: ExitStack, name: str, half: int
) -> None:
    batch = BATCHES[name]
    taken = Taken(deployment, holds, remote, frozen, batch, half)
    with taken.humans:
        if batch.lost:
            taken.lose(batch.lost)
        stuck = taken.all_stuck()
        assert {each.process.removesuffix("-async") for each in stuck} == {f"toolgate-{batch.killed}"}
        deployment.stack.kill(batch.killed)
        frozen.close()
        taken.settle(stuck)
        deployment.stack.start(batch.killed)
        taken.check()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", BATCHES if LONG else ["worker"])
def test_a_connection_cut_inside_a_commit_loses_and_doubles_nothing(
    deployment: Deployment, holds: Holds, remote: Remote, frozen: ExitStack, name: str, half: int
) -> None:
    batch = BATCHES[name]
    # The halves that a kill leaves to the long suite.
    taken = Taken(deployment, holds, remote, frozen, batch, half + 1)
    with taken.humans:
        if batch.lost:
            taken.lose(batch.lost)
        stuck = taken.all_stuck()
        frozen.close()
        taken.cut(stuck)
        taken.check()
