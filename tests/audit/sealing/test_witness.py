"""The newest head reaches a witness, and a witness that does not answer keeps nobody waiting."""

import asyncio

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from django.conf import settings

from audit.log import checkpoints, sealing, witness
from audit.log.notes import Checkpoint, open_note
from tests.audit import logs
from tests.database import rows
from tests.people import Cast


class Witness:
    """Takes checkpoints, or answers `status`; with `gate` closed it does not answer."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.status = 200
        self.gate = asyncio.Event()
        self.gate.set()
        self.reached = asyncio.Event()

    async def take(self, request: web.Request) -> web.Response:
        """One POST."""
        self.reached.set()
        await self.gate.wait()
        self.taken.append(await request.read())
        headers = {"Location": "/elsewhere"} if self.status == 302 else {}
        return web.Response(status=self.status, headers=headers)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> Witness:
    """A witness that the settings name; it lives as long as the test's event loop."""
    played = Witness()
    app = web.Application()
    app.router.add_post("/{path:.*}", played.take)
    running = TestServer(app)
    await running.start_server()
    monkeypatch.setattr(settings, "TOOLGATE_WITNESS_URL", str(running.make_url("/checkpoints?key=s3cret")))
    return played


async def _seal(people: Cast) -> None:
    await logs.write_calls(people.alice)
    await sealing.seal()


def _witnessed() -> list[bool]:
    return [row["seen"] for row in rows("SELECT witnessed_at IS NOT NULL AS seen FROM ledger_checkpoints ORDER BY id")]


async def test_the_newest_head_is_sent_once_as_the_checkpoint_file_has_it(people: Cast, server: Witness) -> None:
    for _ in range(2):
        await _seal(people)
    assert await witness.tell()
    assert await witness.tell()
    [body] = server.taken
    assert body == checkpoints.path().read_bytes().splitlines()[-1]
    note = orjson.loads(body)["note"]
    assert Checkpoint.parse(open_note(note, logs.verifiers())) == logs.heads()[-1]
    assert _witnessed() == [False, True]


async def test_nothing_is_sent_before_there_is_a_head(server: Witness) -> None:
    assert not await witness.tell()
    assert server.taken == []


async def test_nothing_is_sent_to_nobody(people: Cast) -> None:
    await _seal(people)
    assert not await witness.tell()
    assert _witnessed() == [False]


@pytest.mark.parametrize("status", [302, 400, 500])
async def test_a_head_that_was_refused_is_sent_again(people: Cast, server: Witness, status: int) -> None:
    await _seal(people)
    server.status = status
    assert not await witness.tell()
    assert _witnessed() == [False]
    server.status = 204
    assert await witness.tell()
    assert server.taken[0] == server.taken[1]
    assert _witnessed() == [True]


async def test_a_witness_that_is_not_there_is_a_warning_without_its_address(
    people: Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings, "TOOLGATE_WITNESS_URL", "http://user:s3cret@127.0.0.1:1/")
    await _seal(people)
    assert not await witness.tell()
    assert [record.message for record in caplog.records] == ["witness not reached"]
    assert "s3cret" not in str([vars(record) for record in caplog.records])


async def test_a_witness_that_does_not_answer_holds_up_no_sealing_and_is_asked_once_at_a_time(
    people: Cast, server: Witness
) -> None:
    await _seal(people)
    server.gate.clear()
    waiting = asyncio.create_task(witness.tell())
    await server.reached.wait()
    await _seal(people)
    assert not await witness.tell()
    assert [head.size for head in logs.heads()] == [2, 4]
    server.gate.set()
    assert await waiting
    assert await witness.tell()
    assert len(server.taken) == 2
    assert _witnessed() == [True, True]
