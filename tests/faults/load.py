"""A load of chats whose calls have effects that can be counted, each call with a name of its own."""

import random
import threading
import time
import uuid
from types import TracebackType
from typing import Self

from tests.faults.client import Client, Request
from tests.faults.decisions import Humans
from tests.faults.deployment import Deployment
from tests.faults.remote import Remote
from tests.waiting import PATIENCE_SECONDS

WIDTH = 8
# Between two chats of one client.
PAUSE_SECONDS = 0.2
EFFECT, GUARDED, LOOKUP, NOTE = "slow_effect", "guarded_effect", "slow_lookup", "slow_note"
REFUSED, THEN = "no_such_tool", "then:"
CHATS = (
    [LOOKUP, LOOKUP, LOOKUP, EFFECT, THEN, NOTE, EFFECT],
    [NOTE, NOTE, EFFECT],
    [EFFECT, THEN, EFFECT, THEN, NOTE],
    [LOOKUP, LOOKUP, REFUSED, LOOKUP, LOOKUP, THEN, EFFECT, NOTE],
    [GUARDED, NOTE, EFFECT, THEN, NOTE],
)
# What humans say to guarded calls.
VERDICTS = ("approve", "approve", "approve", "deny", "cancel", "expire", "end")


class Load:
    """Clients of two tenants that chat one chat after another: `with Load(deployment, remote) as load: …`.

    At the end every request that was sent has been answered; `clients` has them all, and `decisions` what humans said.
    """

    def __init__(self, deployment: Deployment, remote: Remote):
        self.clients: list[Client] = []
        self._deployment, self._remote, self._name = deployment, remote, uuid.uuid4().hex[:8]
        self._humans = Humans(deployment, {})
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._chat, args=(number,), daemon=True) for number in range(WIDTH)]

    def __enter__(self) -> Self:
        self._humans.__enter__()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        end = time.monotonic() + (0 if kind else PATIENCE_SECONDS)
        for client in list(self.clients):
            client.join(max(0.0, end - time.monotonic()))
            client.give_up()
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._humans.__exit__(kind, error, trace)

    @property
    def decisions(self) -> dict[str, Request]:
        """The decisions that were sent, by approval request."""
        return self._humans.sent

    def _chat(self, number: int) -> None:
        at = 0
        while not self._over.is_set():
            key = f"{self._name}-{number}-{at}"
            person = self._deployment.zoe if number % 4 == 3 else self._deployment.alice
            chat = random.choice(CHATS)
            if GUARDED in chat:
                self._humans.verdicts[key] = random.choice(VERDICTS)
            more = {"wait": 20} if number % 2 else {}
            client = Client(self._deployment, self._script(chat, key), key=key, person=person, **more)
            self.clients.append(client)
            client.join()
            at += 1
            self._over.wait(random.uniform(0, 2 * PAUSE_SECONDS))

    def _script(self, tools: list[str], key: str) -> str:
        return "\n".join(self._line(tool, f"{key}-{place}") for place, tool in enumerate(tools))

    def _line(self, tool: str, name: str) -> str:
        if tool in (EFFECT, GUARDED, LOOKUP):
            return f'call: {tool} {{"url": "{self._remote.url}/{name}"}}'
        if tool == NOTE:
            return f'call: {tool} {{"title": "{name}", "seconds": {random.uniform(0, 0.1):.3f}}}'
        return THEN if tool == THEN else f"call: {tool} {{}}"
