"""The approver's socket, as a client or a page holds it."""

import json
import uuid
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.browser.sessions import session_of
from tests.people import Person
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

PATH = "/ws/approvals/"


class Socket:
    """`with Socket(stack, headers) as socket: socket.ready()`."""

    def __init__(self, stack: Stack, headers: dict[str, str], path: str = PATH):
        self._connect = connect(
            stack.url.replace("http", "ws", 1) + path,
            additional_headers=headers,
            open_timeout=PATIENCE_SECONDS,
            proxy=None,
        )
        self.wire: ClientConnection = self._connect
        self._is_ready = False

    def __enter__(self) -> "Socket":
        return self

    def __exit__(self, *error: object) -> None:
        self.wire.close()

    def send(self, **frame: Any) -> None:
        """A frame of JSON."""
        self.wire.send(json.dumps(frame, default=str))

    def hear(self) -> dict[str, Any]:
        """The next message; that it is ready may be said once more, where it came to listen late."""
        while True:
            message: dict[str, Any] = json.loads(self.wire.recv(PATIENCE_SECONDS))
            if message["type"] != "ready" or not self._is_ready:
                return message

    def hear_of(self, kind: str) -> dict[str, Any]:
        """The next message of a type; others are passed over."""
        while (message := self.hear())["type"] != kind:
            pass
        return message

    def ready(self) -> int:
        """Wait until it tells what changes; how many requests wait."""
        message = self.hear()
        assert message["type"] == "ready", message
        self._is_ready = True
        return int(message["pending"])

    def answer(self, **frame: Any) -> dict[str, Any]:
        """What a frame is answered, whatever is told beside it."""
        self.send(**frame)
        while (message := self.hear())["type"] not in ("decided", "refused"):
            pass
        return message

    def change(self) -> tuple[uuid.UUID, str]:
        """The request that changed next, and its status."""
        approval = self.hear_of("approval")["approval"]
        return uuid.UUID(approval["id"]), approval["status"]


def page(stack: Stack, person: Person, **more: str) -> dict[str, str]:
    """What the browser of a page of ours sends."""
    return {"Cookie": f"sessionid={session_of(person)}", "Origin": stack.url} | more
