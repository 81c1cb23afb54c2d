"""Celery workers on a Redis database of their own, where no other worker listens."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from redis import Redis

from tests import processes
from tests.stack import ROOT
from tests.waiting import PATIENCE_SECONDS, until

QUEUE = "toolgate:celery"


class Queue:
    """`with Queue() as queue:` an empty broker at `queue.url` and what was noted there; ends what it started."""

    def __init__(self) -> None:
        self.url = urlunsplit(urlsplit(settings.REDIS_URL)._replace(path="/7"))
        self.redis = Redis.from_url(self.url, decode_responses=True)
        self._log = Path(tempfile.mkdtemp(prefix="toolgate-queue-")) / "log"
        self._workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.redis.flushdb()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            self.end(worker, signal.SIGKILL)
        self.redis.close()

    def start(self, *options: str, app: str = "tests.tools.celery_app", **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker with these options of its command line."""
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"]
        command = [sys.executable, "-m", "celery", "-A", app, "worker", *quiet, *options]
        with self._log.open("ab") as log:
            self._workers.append(
                processes.Popen(
                    command, cwd=ROOT, env=os.environ | {"REDIS_URL": self.url} | environment, stdout=log, stderr=log
                )
            )
        return self._workers[-1]

    def end(self, worker: subprocess.Popen[bytes], how: signal.Signals) -> None:
        """End a worker that way, and wait until it is gone."""
        if worker.poll() is None:
            worker.send_signal(how)
            worker.wait(PATIENCE_SECONDS)

    def noted(self, what: str, count: int) -> list[str]:
        """What was noted as "started" or "ended", once it is so many."""
        until(lambda: self.redis.llen(what) >= count, self.log)  # type: ignore[operator]
        return list(self.redis.lrange(what, 0, -1))  # type: ignore[arg-type]

    def waiting(self) -> int:
        """How many messages no worker holds."""
        return int(self.redis.llen(QUEUE))  # type: ignore[arg-type]

    def unacknowledged(self) -> int:
        """How many messages a worker holds without having acknowledged them."""
        return int(self.redis.hlen("toolgate:unacked"))  # type: ignore[arg-type]

    def log(self) -> str:
        """What the workers have written."""
        return self._log.read_text(errors="replace")[-4000:]
