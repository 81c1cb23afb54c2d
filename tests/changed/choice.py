"""Which tests are run for a change: those that it concerns, the nearest first, as many as there is time for."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.changed import names
from tests.changed.references import ROOT, Sources, git

MINUTES = 1.5
# What everything stands on: no reference says whom a change of these concerns.
FOUNDATIONS = {"pyproject.toml", "requirements.lock", "requirements-dev.lock", "manage.py", "tests/conftest.py"}
# A test where no run has noted how long its file takes, in a pytest worker.
SECONDS_A_TEST = 1.0
# Two pytest workers share them.
WORKERS = 2
NOTED = ROOT / ".pytest_cache" / "v" / "toolgate" / "seconds"


class Distance(NamedTuple):
    """The steps from a test to a changed file; and how little of its name is that file's, from 0 to 1."""

    steps: int
    unlike: float


@dataclass(frozen=True)
class Undecided:
    """A file of which nobody can say whom it concerns."""

    path: str

    def __str__(self) -> str:
        return f"nobody can say which of them {self.path} concerns"


def changed_files(since: str, root: Path = ROOT) -> list[str]:
    """What differs from where a commit was left, and what git does not know yet; raises CalledProcessError."""
    different = git(root, "diff", "--name-only", "--find-renames", "--merge-base", since)
    return sorted({*different, *git(root, "ls-files", "--others", "--exclude-standard")})


def concerned(changed: Iterable[str], sources: Sources) -> dict[str, Distance] | Undecided:
    """The files of tests that a change of these files concerns, and how far they are from it."""
    found: dict[str, Distance] = {}
    for path in changed:
        steps = sources.tests(path) if path in sources.paths and path not in FOUNDATIONS else {}
        if not steps:
            return Undecided(path)
        for test, count in steps.items():
            distance = Distance(count, 1 - names.alike(path, test))
            found[test] = min(distance, found.get(test, distance))
    return found


def within(distances: Mapping[str, Distance], seconds: Mapping[str, float], minutes: float) -> list[str]:
    """The nearest files of tests that take so long together, one at least; with 0 minutes all of them."""
    nearest = sorted(distances, key=lambda each: (distances[each], seconds[each], each))
    left = minutes * 60 - seconds[nearest[0]] if nearest else 0
    chosen = nearest[:1]
    for each in nearest[1:]:
        left -= seconds[each]
        if minutes and left < 0:
            break
        chosen.append(each)
    return chosen


def seconds_of(tests: Iterable[str], sources: Sources) -> dict[str, float]:
    """How long each file of tests will take, as the last run of it has noted (tests/durations.py)."""
    try:
        noted = json.loads(NOTED.read_text())
    except (OSError, ValueError):
        noted = {}

    def guessed(test: str) -> float:
        return len(re.findall(r"(?m)^(?:async )?def test_", sources.text(test))) * SECONDS_A_TEST

    return {each: (noted[each] if each in noted else guessed(each)) / WORKERS for each in tests}
