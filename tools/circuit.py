"""A circuit breaker a tool: a remote that keeps failing is left alone for a while instead of being waited for."""

import time
from collections.abc import Callable

# Failures in a row that open the circuit, and how long it then stays open before one call may try.
FAILURES = 5
OPEN_SECONDS = 30.0


class Circuit:
    """This process's view of one tool's remote: closed, open for OPEN_SECONDS, then one call at a time tries."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0

    def lets_through(self) -> bool:
        """Whether a call may go out now; the first one after the pause is the trial, and others wait for its end."""
        if self._failures < FAILURES:
            return True
        if self._clock() < self._open_until:
            return False
        self._open_until = self._clock() + OPEN_SECONDS
        return True

    def succeeded(self) -> None:
        """The remote answered: closed."""
        self._failures = 0

    def failed(self) -> None:
        """The remote failed; enough of these in a row open the circuit."""
        self._failures += 1
        if self._failures >= FAILURES:
            self._open_until = self._clock() + OPEN_SECONDS


_circuits: dict[str, Circuit] = {}


def of(tool: str) -> Circuit:
    """The tool's circuit in this process."""
    return _circuits.setdefault(tool, Circuit())
