"""Whoever has the owner's login, no trigger in the way, changes the audit in 1,000 ways: each is found and named."""

import random
from collections import Counter, deque

import pytest

from tests.audit.full_log import make_log
from tests.audit.log_database import LogDatabase
from tests.audit.tampering.groups import GROUPS, OF_ONE_ROW, Mutation, mutations
from tests.audit.tampering.rows import Connection, Target

SEED = 20261121
# How many mutations, each of a row of its own, one verification is asked about.
TOGETHER = 25


@pytest.fixture(scope="module")
def log() -> LogDatabase:
    return make_log()


def test_there_are_a_thousand() -> None:
    assert sum(sum(group.values()) for group in GROUPS.values()) == 1000


def test_nothing_is_wrong_before(log: LogDatabase) -> None:
    with log.owner() as connection:
        found, _ = log.verified(connection)
    assert [finding for finding in found if finding.severity == "error"] == []


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("group", GROUPS)
def test_every_mutation_is_found_and_named(log: LogDatabase, group: str) -> None:
    rng = random.Random(SEED)
    table: dict[str, Counter[str]] = {}
    missed = []
    waiting = deque(mutations(group))
    while waiting:
        with log.owner() as connection:
            made = _made(connection, rng, waiting)
            found, _ = log.verified(connection)
        errors = [finding for finding in found if finding.severity == "error"]
        for mutation, number, target in made:
            own = [finding for finding in errors if target.named_by(finding)]
            # What names one of several was found without the others: none is about two, or about none of them.
            alone = own if len(made) > 1 else errors
            counts = table.setdefault(mutation.__name__, Counter())
            counts += Counter(mutations=1, found=bool(alone), named=bool(own))
            table[mutation.__name__] = counts
            if not own:
                missed.append((mutation.__name__, number, target.what, [str(each) for each in errors[:3]]))
        if len(made) > 1:
            assert [str(each) for each in errors if sum(target.named_by(each) for _, _, target in made) != 1] == []
    print(f"\nseed {SEED}\n" + "\n".join(f"{name:16} {dict(counts)}" for name, counts in table.items()))
    assert missed == []


def _made(
    connection: Connection, rng: random.Random, waiting: deque[tuple[Mutation, int]]
) -> list[tuple[Mutation, int, Target]]:
    """Make the next mutation; and, where it is of one row alone, those after it that are of other rows."""
    made: list[tuple[Mutation, int, Target]] = []
    while waiting and len(made) < TOGETHER:
        mutation, number = waiting[0]
        if made and mutation not in OF_ONE_ROW:
            break
        before = rng.getstate()
        connection.execute("SAVEPOINT mutation")
        target = mutation(connection, rng, number)
        if any(target.calls & other.calls or target.records & other.records for _, _, other in made):
            connection.execute("ROLLBACK TO mutation")
            rng.setstate(before)
            break
        made.append((mutation, number, target))
        waiting.popleft()
        if mutation not in OF_ONE_ROW:
            break
    return made
