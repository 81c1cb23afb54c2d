"""Loopback ports that stay the same from one start to the next where they can."""

import random
import socket

# Below what the kernel hands out to outgoing connections, so that a port is still free when its service restarts.
LOWEST, HIGHEST = 15000, 32000
ATTEMPTS = 200


def is_free(port: int) -> bool:
    """Whether a server could listen on 127.0.0.1:`port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose(preferred: int | None) -> int:
    """`preferred` when it is free, else another free port."""
    if preferred is not None and is_free(preferred):
        return preferred
    candidates = (random.randrange(LOWEST, HIGHEST) for _ in range(ATTEMPTS))
    return next(port for port in candidates if is_free(port))
