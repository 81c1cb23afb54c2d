"""Where messages go: as in the tests of notifications. What is due is delivered when a test says so."""

import uuid
from collections.abc import Collection

import pytest

from tests.notifications.conftest import mail, receiver

__all__ = ["asked", "mail", "receiver"]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """The tenants that this process asked for to be delivered; no worker that is running hears of it."""
    from notifications import outbox

    found: list[uuid.UUID] = []

    async def ask(tenants: Collection[uuid.UUID]) -> None:
        found.extend(tenants)

    monkeypatch.setattr(outbox, "ask", ask)
    return found
