"""Every arrow of both state machines, its process killed or its connection cut inside the arrow's COMMIT.

Half of the COMMITs are rolled back, the others are done, and in neither case has the process heard of it. The long
suite also has each arrow's other half.
"""

from collections.abc import Iterator

import pytest

from tests.faults import cases, invariants
from tests.faults.arrows import Holds, Stuck, unanswered_commits
from tests.faults.cases import Case, Ending
from tests.faults.client import Client, Request
from tests.faults.house import LONG, House
from tests.faults.remote import Remote

pytestmark = pytest.mark.faults


@pytest.fixture
def holds(house: House) -> Iterator[Holds]:
    """Nothing held yet."""
    with Holds(house) as none:
        yield none


class Taken:
    """The cases' runs, on their way to where they are held: `by_hold` tells the fate of each."""

    def __init__(self, house: House, holds: Holds, remote: Remote, wanted: list[Case], half: int):
        self.house, self.holds, self.remote = house, holds, remote
        self.clients: list[tuple[Client, Case, str]] = []
        house.stack.wait_ready()
        self.by_hold: dict[int, str] = {}
        for number, case in enumerate(wanted):
            name, fate = f"{remote.url[-5:]}-{number}", cases.FATES[(number + half) % 2]
            self.by_hold[holds.hold(name, case.arrow)] = fate
            content = case.content.format(url=remote.url, name=name)
            self.clients.append((Client(house, content, key=name, **case.chat), case, fate))
        for client, case, _ in self.clients:
            if case.cancels:
                run = house.wait_for(lambda key=client.key: house.run_of(key))
                house.wait_for(lambda path=f"/held/{client.key}": remote.effects[path])
                Request(house, f"/api/v1/runs/{run['id']}/cancel")

    def all_stuck(self) -> list[Stuck]:
        """Each of them, once it waits inside its COMMIT."""
        try:
            self.house.wait_for(lambda: self.by_hold.keys() <= self.holds.stuck().keys(), 30)
        except TimeoutError:
            missing = self.by_hold.keys() - self.holds.stuck().keys()
            states = {
                case.name: [self.house.run_of(client.key), self.house.calls_of(client.key)]
                for (client, case, _), number in zip(self.clients, self.by_hold, strict=True)
                if number in missing
            }
            raise AssertionError(f"never stuck: {states}") from None
        return list(self.holds.stuck().values())

    def settle(self, stuck: list[Stuck]) -> None:
        """Let fate have its way with those that are stuck, whose process is dead."""
        for each in stuck:
            if self.by_hold[each.number] == "committed":
                self.holds.let_commit(each)
            else:
                self.holds.roll_back(each)

    def cut(self, stuck: list[Stuck]) -> None:
        """The same where the process lives, and hears no more than that its connection ended."""
        for each in stuck:
            if self.by_hold[each.number] == "rolled back":
                self.holds.roll_back(each)
        committed = [each for each in stuck if self.by_hold[each.number] == "committed"]
        with unanswered_commits(self.house) as waiting:
            for each in committed:
                self.holds.let_commit(each)
            self.house.wait_for(lambda: waiting() >= {each.pid for each in committed})

    def check(self) -> None:
        """Every run has come to the end that its case foresees, and every invariant holds."""
        for client, _, _ in self.clients:
            self.house.end_of(client.key)
        self.remote.gate.set()
        for client, _, _ in self.clients:
            self.house.wait_for(lambda key=client.key: all(c["finished_at"] for c in self.house.calls_of(key)))
            client.join(30)
        ended = {(case.name, fate): _ending(self, client) for client, case, fate in self.clients}
        assert ended == {(case.name, fate): case.endings[fate] for _, case, fate in self.clients}
        assert invariants.look(self.house, self.remote, [client for client, _, _ in self.clients]).wrong() == []


def _ending(taken: Taken, client: Client) -> Ending:
    house, key = taken.house, client.key
    calls = tuple(f"{call['error_code'] or call['status']} {call['attempt']}" for call in house.calls_of(key))
    notes = house.rows("SELECT FROM notes WHERE title IN (%s, %s)", key, f"{key} second")
    effects = sum(count for path, count in taken.remote.effects.items() if path.endswith(f"/{key}"))
    return Ending(calls, len(notes) + effects, house.end_of(key)["status"])


@pytest.mark.parametrize("half", [0, 1] if LONG else [0])
@pytest.mark.parametrize("wanted", [cases.WEB, cases.WORKER], ids=["web", "worker"])
def test_a_process_killed_inside_a_commit_loses_and_doubles_nothing(
    house: House, holds: Holds, remote: Remote, wanted: list[Case], half: int
) -> None:
    taken = Taken(house, holds, remote, wanted, half)
    stuck = taken.all_stuck()
    killed = "web" if wanted is cases.WEB else "worker"
    assert {each.process for each in stuck} <= {f"toolgate-{killed}", f"toolgate-{killed}-async"}
    house.stack.kill(killed)
    taken.settle(stuck)
    house.stack.start(killed)
    taken.check()


@pytest.mark.parametrize("half", [0, 1] if LONG else [0])
@pytest.mark.parametrize("wanted", [cases.WEB, cases.WORKER], ids=["web", "worker"])
def test_a_connection_cut_inside_a_commit_loses_and_doubles_nothing(
    house: House, holds: Holds, remote: Remote, wanted: list[Case], half: int
) -> None:
    # The halves that a kill leaves to the long suite.
    taken = Taken(house, holds, remote, wanted, half + 1)
    taken.cut(taken.all_stuck())
    taken.check()
