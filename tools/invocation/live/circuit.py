"""Circuit breakers, one a tenant and tool: what keeps failing for a tenant is left alone for a while.

A tenant's failures are told to no other tenant's breaker, since they may be of its own making: its arguments, its
credentials, the remotes that it names. So there is none for a tool as a whole; where a remote is down for everybody,
each tenant finds out by itself. The breakers are this process's own, and need nothing else to be up.
"""

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable

# Failures in a row that open the circuit, and how long it then stays open before one call may try.
FAILURES = 5
OPEN_SECONDS = 30.0
# Circuits that remember a failure; beyond these the one that failed longest ago is forgotten.
MOST = 10_000


class Circuit:
    """What one tenant has met with at one tool: closed, open for OPEN_SECONDS, then one call at a time tries."""

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

    def failed(self) -> None:
        """The remote failed; enough of these in a row open the circuit."""
        self._failures += 1
        if self._failures >= FAILURES:
            self._open_until = self._clock() + OPEN_SECONDS


class Circuits:
    """Circuits by tenant and tool; only those with failures are held."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._held: OrderedDict[tuple[uuid.UUID, str], Circuit] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def lets_through(self, tenant_id: uuid.UUID, tool: str) -> bool:
        """Whether a call of this tenant may go out to the tool now."""
        circuit = self._held.get((tenant_id, tool))
        return circuit is None or circuit.lets_through()

    def succeeded(self, tenant_id: uuid.UUID, tool: str) -> None:
        """The tool answered this tenant: closed."""
        self._held.pop((tenant_id, tool), None)

    def failed(self, tenant_id: uuid.UUID, tool: str) -> None:
        """The tool failed for this tenant."""
        key = (tenant_id, tool)
        circuit = self._held.setdefault(key, Circuit(self._clock))
        self._held.move_to_end(key)
        circuit.failed()
        if len(self._held) > MOST:
            self._held.popitem(last=False)


circuits = Circuits()
