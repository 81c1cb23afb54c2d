"""Which files of tests are named after a file: `tests/audit/test_changes.py` after `audit/changes/recording.py`."""

import re

# What is in the name of many, and says nothing.
_COMMON = {"tests", "test", "of", "a", "and", "the"}


def alike(path: str, test: str) -> float:
    """How much of a test's name a file has in its own, from 0 to 1."""
    words = _words(test)
    return len(words & _words(path)) / len(words)


def _words(path: str) -> set[str]:
    return set(re.split(r"[/_]", path.rpartition(".")[0])) - _COMMON
