"""Whoever has the owner's login, no trigger in the way, changes the audit in 1,000 ways: each is found and named."""

import random
from collections import Counter

import pytest

from tests.audit import mutations
from tests.audit.whole import RunPorts, make_log

SEED = 20261121


@pytest.fixture(scope="module")
def log() -> RunPorts:
    return make_log()


def test_there_are_a_thousand() -> None:
    assert sum(sum(group.values()) for group in mutations.GROUPS.values()) == 1000


@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", mutations.GROUPS)
def test_every_mutation_is_found_and_named(log: RunPorts, group: str) -> None:
    rng = random.Random(SEED)
    table: dict[str, Counter[str]] = {}
    missed = []
    for mutation, number in mutations.mutations(group):
        with log.owner() as connection:
            target = mutation(connection, rng, number)
            found, _ = log.verified(connection)
        errors = [finding for finding in found if finding.severity == "error"]
        named = any(target.named_by(finding) for finding in errors)
        counts = table.setdefault(mutation.__name__, Counter())
        counts += Counter(mutations=1, found=bool(errors), named=named)
        table[mutation.__name__] = counts
        if not named:
            missed.append((mutation.__name__, number, target.what, [str(each) for each in errors[:3]]))
    print(f"\nseed {SEED}\n" + "\n".join(f"{name:16} {dict(counts)}" for name, counts in table.items()))
    assert missed == []
