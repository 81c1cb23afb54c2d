"""A client as it should be: it sends its request until it is answered."""

import threading
import uuid
from typing import Any

import httpx

from tests.faults.deployment import Deployment, Member

# What says to ask the same again later: nothing is known yet of what became of it, or a human has to decide first.
AGAIN = {202, 503}
PAUSE_SECONDS = 0.2


class Request(threading.Thread):
    """One POST, sent in the background; `status` and `body` are the answer once it has come."""

    def __init__(
        self, deployment: Deployment, path: str, body: Any = None, *, key: str = "", person: Member | None = None
    ):
        super().__init__(daemon=True)
        self.key = key or uuid.uuid4().hex
        self.status: int | None = None
        self.body: dict[str, Any] = {}
        self.person = person or deployment.alice
        self._url, self._json = deployment.stack.url + path, body
        self._headers = self.person.headers | {"Idempotency-Key": self.key}
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        """Send until answered, or until nobody wants the answer any more."""
        while self.status is None and not self._over.is_set():
            try:
                # Without certificates, which a client of its own would read from disk each time.
                answer = httpx.post(self._url, json=self._json, headers=self._headers, verify=False)
                if answer.status_code not in AGAIN:
                    self.body = answer.json() if "json" in answer.headers["content-type"] else {}
                    self.status = answer.status_code
                    return
            except httpx.TransportError:
                pass
            self._over.wait(PAUSE_SECONDS)

    def give_up(self) -> None:
        """Send no more."""
        self._over.set()


class Client(Request):
    """One chat, with an Idempotency-Key, so that sending it again begins no second run."""

    def __init__(
        self, deployment: Deployment, content: str, *, key: str = "", person: Member | None = None, **more: Any
    ):
        super().__init__(deployment, "/api/v1/chat", {"content": content, **more}, key=key, person=person)
