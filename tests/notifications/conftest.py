"""Where notifications go: a receiver of webhooks and a mail server, both allowed to be reached."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.notifications.receiver import Receiver
    from tests.smtp import MailServer

PUBLIC_URL = "https://gate.example"


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> "AsyncIterator[Receiver]":
    """A receiver of webhooks, reached although it is here."""
    from django.test import override_settings

    from tests.notifications.outbox import serve
    from tests.notifications.receiver import HERE, Receiver

    receiver = Receiver()
    runner = await serve(receiver)
    # A machine that is busy is no receiver that hangs.
    for channel in ("webhook", "slack"):
        monkeypatch.setattr(f"notifications.channels.{channel}.delivery.CONNECT_SECONDS", PATIENCE_SECONDS)
        monkeypatch.setattr(f"notifications.channels.{channel}.delivery.SECONDS", PATIENCE_SECONDS)
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (HERE,)), PUBLIC_URL=PUBLIC_URL):
        yield receiver
    receiver.released.set()
    await runner.cleanup()


@pytest.fixture
def mail(monkeypatch: pytest.MonkeyPatch) -> "Iterator[MailServer]":
    """The operator's mail server."""
    from django.test import override_settings

    from tests.smtp import MailServer

    monkeypatch.setattr("notifications.channels.email.delivery.SECONDS", PATIENCE_SECONDS)
    with MailServer() as server, override_settings(**server.settings, PUBLIC_URL=PUBLIC_URL):
        yield server
