"""The listening socket of the web process."""

import socket

BACKLOG = 2048


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


def _prompt(listening: socket.socket) -> socket.socket:
    # Accepted sockets inherit it. With Nagle's algorithm the second segment of an answer waits for the client's
    # delayed acknowledgement of the first: 40 ms on a kept-alive connection.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
