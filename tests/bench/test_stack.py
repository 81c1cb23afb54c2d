"""The benchmark measures the processes that `make up`, the image and compose start."""

import json
import re
import shlex
from pathlib import Path

import yaml

from bench.rig.stack import Stack
from gateway.embedded.commands import BEAT, WEB, WORKER

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_measured_processes_are_those_of_make_up_on_its_listening_socket() -> None:
    stack = Stack(web_concurrency=2)
    commands = stack._commands(8000, 7)
    assert [command.name for command in commands] == ["web", "web", "worker", "beat"]
    for web in commands[:2]:
        assert web.words[2 : 2 + len(WEB)] == WEB
        assert web.words[2 + len(WEB) :] == ("--fd", "7", "--no-proxy-headers")
        assert web.inherited == (7,)
    assert commands[2].words[2:] == (*WORKER, "--concurrency", "8")
    assert commands[3].words[2 : 2 + len(BEAT)] == BEAT
    stack.stop()


def test_the_image_and_compose_start_the_same_server_and_worker() -> None:
    found = re.search(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert found is not None
    # The application that `make up` names is the server's default; host and port take the place of its socket.
    assert json.loads(found[1]) == ["python", "-m", WEB[0], "--host", "0.0.0.0", "--port", "8000"]
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert "command" not in services["web"]
    worker = shlex.split(services["worker"]["command"])
    at = worker.index("--concurrency")
    assert worker[:at] + worker[at + 2 :] == list(WORKER)
    assert shlex.split(services["beat"]["command"])[: len(BEAT)] == list(BEAT)
