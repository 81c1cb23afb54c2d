"""The approver's socket while Redis, which carries the news, is away."""

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.embedded.services.together import EmbeddedServices
from gateway.embedded.services.valkey import EmbeddedValkey
from tests.approvals.api import decide
from tests.approvals.requests import held
from tests.approvals.sockets import Socket
from tests.people import Cast
from tests.stack import Stack
from tests.waiting import until


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    """A Valkey that a test may end."""
    with EmbeddedServices(tmp_path, durable=False, postgres=False) as services:
        valkey = services.valkey
        assert valkey is not None
        yield valkey
        if valkey.pid is not None and valkey.is_running():
            os.kill(valkey.pid, signal.SIGCONT)


@pytest.fixture
def own_stack(valkey: EmbeddedValkey) -> Iterator[Stack]:
    """A Toolgate on it."""
    with Stack(REDIS_URL=valkey.redis_url) as running:
        yield running


def _kill(valkey: EmbeddedValkey) -> Callable[[], None]:
    assert valkey.pid is not None
    os.kill(valkey.pid, signal.SIGKILL)
    return valkey.restart


def _hang(valkey: EmbeddedValkey) -> Callable[[], None]:
    process = valkey.pid
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    return lambda: os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("take_away", [_kill, _hang])
def test_verdicts_count_while_redis_is_away_and_news_come_again_once_it_is_back(
    own_stack: Stack, valkey: EmbeddedValkey, tenant: Cast, take_away: Callable[[EmbeddedValkey], Callable[[], None]]
) -> None:
    over_socket, over_rest = held(tenant.alice), held(tenant.alice)
    with Socket(own_stack, tenant.carol.headers) as before:
        assert before.ready() == 2
        bring_back = take_away(valkey)
        with Socket(own_stack, tenant.olga.headers) as meanwhile:
            assert meanwhile.ready() == 2
            assert meanwhile.answer(type="approve", id=over_socket)["type"] == "decided"
            assert decide(own_stack, tenant.carol, over_rest, "deny").status_code == 200
            bring_back()
            # What was said meanwhile may be lost, or come late; what is said once both listen again is heard.
            heard, spoken = {before: False, meanwhile: False}, list[uuid.UUID]()

            def speak() -> bool:
                spoken.append(held(tenant.alice))
                decide(own_stack, tenant.carol, spoken[-1], "approve")
                for voice in heard:
                    heard[voice] |= _hears(voice, spoken)
                return all(heard.values())

            assert until(speak)


def _hears(voice: Socket, spoken: list[uuid.UUID]) -> bool:
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            said = str(voice.wire.recv(0.5))
            if any(str(request) in said for request in spoken):
                return True
        except TimeoutError:
            continue
    return False
