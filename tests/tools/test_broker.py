"""Celery's connection to Redis: nothing is written down there about what a worker holds, and nothing is lost."""

import asyncio
import os
import signal
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings
from kombu import Connection
from kombu.exceptions import OperationalError

from gateway.config.celery import app
from tests.redis_relay import relay
from tests.stack import ROOT
from tests.tools.test_send_email import self_signed
from tests.tools.test_start import COMMANDS
from tests.tools.workers import Queue
from tests.waiting import PATIENCE_SECONDS, eventually
from tools.network import messages
from tools.worker.broker import BrokerConnection, Transport


@pytest.fixture
def queue() -> Iterator[Queue]:
    """A broker where no worker listens but those of the test, which this process publishes to."""
    with Queue() as queue, override_settings(REDIS_URL=queue.url):
        yield queue


async def _held(queue: Queue) -> None:
    """Have the worker begin two of ten messages, and another one after it has got all of them."""
    await messages.send([("tests.local", ["a", str(number)]) for number in range(10)])
    await messages.send([("tests.remote", ["a", "last"])])
    await eventually(lambda: "a:last" in queue.noted("started", 3))


async def test_what_a_worker_holds_is_noted_nowhere_in_redis(queue: Queue) -> None:
    queue.start("--concurrency", "2")
    await _held(queue)
    assert [key for key in queue.redis.scan_iter("*") if "_kombu.binding" not in key] == ["started"]


async def test_a_worker_that_loses_its_broker_runs_what_it_holds_once_and_goes_on(queue: Queue) -> None:
    async with relay(queue.url) as between:
        worker = queue.start("--concurrency", "2", REDIS_URL=between.url)
        await _held(queue)
        between.cut()
        await eventually(lambda: "Connection to broker lost" in queue.log())
        queue.redis.set("gate", 1)
        await messages.send([("tests.local", ["a", "after"])])
        await eventually(lambda: "a:after" in queue.noted("ended", 1))
        await asyncio.to_thread(queue.end, worker, signal.SIGTERM)
    assert sorted(queue.noted("ended", 12)) == sorted(f"a:{what}" for what in (*range(10), "last", "after"))
    assert queue.waiting() == 0


async def test_a_worker_that_ends_while_its_broker_is_away_leaves_its_messages_to_the_sweeper(queue: Queue) -> None:
    async with relay(queue.url) as between:
        worker = queue.start("--concurrency", "2", REDIS_URL=between.url)
        await _held(queue)
        worker.send_signal(signal.SIGTERM)
        await eventually(lambda: "begins nothing more" in queue.log())
        between.close()
        await eventually(lambda: worker.poll() is not None)
    assert 'event="messages left to the sweeper" messages=8 why=ConnectionError' in queue.log()
    assert "EMERGENCY" not in queue.log()
    assert (queue.waiting(), queue.redis.llen("started"), queue.redis.llen("ended")) == (0, 3, 0)


async def test_a_broker_over_tls_is_verified_as_by_everybody_else_who_reads_its_url(
    queue: Queue, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)

    def ping(url: str) -> None:
        with app.connection_for_read(url) as connection:
            connection.default_channel.client.ping()

    async with relay(queue.url, tls) as between:
        with pytest.raises(OperationalError, match="CERTIFICATE_VERIFY_FAILED"):
            await asyncio.to_thread(ping, between.url)
        await asyncio.to_thread(ping, f"{between.url}?ssl_check_hostname=false&ssl_ca_certs={certificate}")
        await asyncio.to_thread(ping, f"{between.url}?ssl_cert_reqs=none")


def test_only_brokers_of_redis_get_this_transport() -> None:
    ours = [BrokerConnection(url).get_transport_cls() for url in ("redis://a/1", "rediss://a/1", "memory://")]
    assert ours == [Transport, Transport, Connection("memory://").get_transport_cls()]
    assert app.connection_for_read("redis://a/1").clone().get_transport_cls() is Transport


@pytest.mark.parametrize(("process", "name"), [("worker", "CELERY_BROKER_READ_URL"), ("beat", "CELERY_BROKER_URL")])
def test_no_process_starts_with_another_broker_than_calls_are_sent_to(process: str, name: str, tmp_path: Path) -> None:
    environment = os.environ | {name: "redis://elsewhere.example/0", "TOOLGATE_PROCESS": process}
    environment["PYTHONPATH"] = str(ROOT)
    ended = subprocess.run(
        COMMANDS[process],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines()[-1] == (
        f"toolgate: calls are sent to REDIS_URL and nowhere else; remove {name} from the environment"
    )
