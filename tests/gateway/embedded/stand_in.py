"""The real supervisor around stand-in processes, as `python -m tests.gateway.embedded.stand_in DATA_DIR PORT SETUP …`.

SETUP is what the set-up process runs, in Python. Each stand-in prints `here PID`; the web one answers every request
with 200 and its environment.
"""

import argparse
import sys
from pathlib import Path

from gateway.embedded.child import Command
from gateway.embedded.commands import OWNER
from gateway.embedded.configuration import Configuration
from gateway.embedded.errors import EmbeddedError
from gateway.embedded.output import Output
from gateway.embedded.supervisor import Supervisor
from gateway.process.environment import WrongSetting

WEB = """
import http.server, json, os, socket, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"pid": os.getpid(), "environment": dict(os.environ)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Answer, bind_and_activate=False)
server.socket = socket.socket(fileno=int(sys.argv[1]))
print("here", os.getpid(), flush=True)
server.serve_forever()
"""
IDLE = "import os, signal; print('here', os.getpid(), flush=True); signal.pause()"
GIVEN = {
    "DATABASE_URL": "postgresql://app:a@db/t",
    "DATABASE_OWNER_URL": "postgresql://o:o@db/t",
    "REDIS_URL": "redis://r",
}


def run(options: argparse.Namespace) -> int:
    """The supervisor's exit code."""
    configuration = Configuration(
        root=options.data_dir.parent,
        data_dir=options.data_dir,
        host="127.0.0.1",
        port=options.port,
        web_concurrency=1,
        worker_concurrency=1,
        production=False,
        allowed_hosts=[],
        trusted_proxies=[],
        given={} if options.services else GIVEN,
    )

    def preparation(_: Configuration, found: dict[str, str]) -> Command:
        return _python("setup", options.setup, found)

    def processes(_: Configuration, found: dict[str, str], listening: int) -> list[Command]:
        known = {name: value for name, value in found.items() if name != OWNER}
        web = _python("web", WEB, known, listening)
        return [web, _python("worker", IDLE, known), _python("beat", options.beat, known)]

    supervisor = Supervisor(
        configuration, Output(), parent=options.parent, preparation=preparation, processes=processes
    )
    try:
        return supervisor.run()
    except (EmbeddedError, WrongSetting) as refusal:
        print(f"toolgate: {refusal}", file=sys.stderr)
        return 1


def _python(name: str, code: str, addresses: dict[str, str], *inherited: int) -> Command:
    words = (sys.executable, "-S", "-c", code, *map(str, inherited))
    return Command(name, words, addresses | {"TOOLGATE_PROCESS": name}, inherited, last=name == "beat")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("setup")
    parser.add_argument("--beat", default=IDLE)
    parser.add_argument("--parent", type=int)
    parser.add_argument("--services", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(run(_options()))
