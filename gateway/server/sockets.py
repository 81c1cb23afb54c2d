"""The listening socket of the web process, and how many connections it may have."""

import resource
import socket
from contextlib import suppress

BACKLOG = 2048
MOST_FILES = 65_536


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on `host` (a name or address of this machine) and `port` (0: any free one).

    Raises socket.gaierror for an unknown host, OSError when the address is not available.
    """
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return _prompt(socket.create_server(address[:2], family=family, backlog=BACKLOG))


def inherited(descriptor: int) -> socket.socket:
    """The listening socket that the parent process opened, with its real address family.

    uvicorn's own `--fd` takes every descriptor for a Unix socket, on which the event loop sets no TCP options.
    """
    return _prompt(socket.socket(fileno=descriptor))


def allow_many() -> None:
    """Let this process have as many connections as the system lets it.

    Most shells allow 1,024 open files, which one client's open streams would use up for everybody.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _prompt(listening: socket.socket) -> socket.socket:
    # Accepted sockets inherit it. With Nagle's algorithm the second segment of an answer waits for the client's
    # delayed acknowledgement of the first: 40 ms on a kept-alive connection.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
