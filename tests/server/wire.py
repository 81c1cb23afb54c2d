"""Raw HTTP/1.1 on a socket, for what no client library sends."""

import json
import select
import socket
from dataclasses import dataclass
from typing import Any, Self

from tests.waiting import PATIENCE_SECONDS

CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"


@dataclass(frozen=True)
class Answer:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


class Wire:
    """One connection: `with Wire(port) as wire: wire.send(b"GET …"); wire.answer()`."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """All of it."""
        self.socket.sendall(data)

    def head(self, line: str, *headers: str) -> None:
        """A whole head."""
        self.send("\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode())

    def send_until_answered(self, piece: bytes, most: int) -> int:
        """Send `piece` again and again until there is an answer or `most` bytes are sent; how many were."""
        sent = 0
        while sent < most and not select.select([self.socket], [], [], 0)[0]:
            try:
                self.socket.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
            sent += len(piece)
        return sent

    def answer(self) -> Answer:
        """The next answer, which states its length."""
        while b"\r\n\r\n" not in self._read:
            self._more()
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(headers["content-length"])
        while len(self._read) < length:
            self._more()
        body, self._read = self._read[:length], self._read[length:]
        return Answer(int(first.split()[1]), headers, body)

    def ended(self) -> bool:
        """Whether the server says nothing more, and hangs up."""
        return self._read == b"" and self.socket.recv(65536) == b""

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"the server hung up after {self._read[:200]!r}")
        self._read += data
