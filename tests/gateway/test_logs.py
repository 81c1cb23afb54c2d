"""What a hostile text becomes in the log, whoever writes it and in whichever process."""

import logging
import os
import sys
from pathlib import Path

import pytest

from gateway.process.logs import formatter
from tests import processes

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "a\x1b[2Jb\x00c\nlevel=info\r\x85\u2028\u202ed\x7f\ud800"
HARMLESS = r"a\x1b[2Jb\x00c\nlevel=info\r\x85\u2028\u202ed\x7f\ud800"
# Each way to write, as a process of ours sets its log up.
APPLICATION = "uvicorn.Config('gateway.config.asgi:application', log_level='warning').load()"
WEB = f"import uvicorn; {APPLICATION}; name = 'uvicorn.error'"
ACCESS = WEB.replace("uvicorn.error", "uvicorn.access")
WORKER = "from gateway.config.celery import app; app.log.setup(loglevel='WARNING'); name = 'celery.task'"
BEAT = "import os; os.environ['TOOLGATE_PROCESS'] = 'beat'; " + WORKER.replace("celery.task", "celery.beat")
COMMAND = "import django; django.setup(); name = 'gateway.runs.lifecycle.driving'"
CRASH = """
import logging
hostile = "a\\x1b[2Jb\\x00c\\nd"
try:
    raise ValueError(hostile)
except ValueError:
    logging.getLogger(name).exception("crash %s", hostile)
"""


def line(error: BaseException | None = None, **extra: object) -> str:
    info = (type(error), error, error.__traceback__) if error is not None else None
    record = logging.LogRecord("test", logging.ERROR, "file", 1, "said %s", (HOSTILE,), info)
    record.__dict__ |= extra
    return formatter().format(record)


def test_message_values_and_exceptions_are_one_line_of_harmless_text() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError as error:
        error.add_note(HOSTILE)
        written = line(error, value=HOSTILE, words=[HOSTILE])
    assert written.isprintable()
    assert written.count(HARMLESS) >= 4
    written.encode()


def test_what_people_write_is_kept_as_it_is() -> None:
    record = logging.LogRecord("test", logging.ERROR, "file", 1, "café 東京 %s", ("ß",), None)
    assert 'event="café 東京 ß"' in formatter().format(record)


@pytest.mark.parametrize("set_up", [WEB, ACCESS, WORKER, BEAT, COMMAND], ids=["web", "access", "worker", "beat", "cli"])
def test_every_process_writes_its_crashes_that_way(set_up: str) -> None:
    done = processes.run([sys.executable, "-c", set_up + CRASH], cwd=ROOT, env=os.environ, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    lines = [each for each in done.stderr.decode().split("\n") if "crash" in each]
    assert len(lines) == 1, done.stderr
    assert all(character == "\n" or character.isprintable() for character in done.stderr.decode())
    assert r"ValueError: a\x1b[2Jb\x00c\nd" in lines[0]
