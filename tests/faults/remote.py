"""A remote that counts what reaches it."""

import random
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Remote:
    """Counts the effects that reach it, by path, and answers when it may.

    Paths below /held/ are answered when `gate` is opened, /late/ with 504 at first and 200 later, /refused/ with 500,
    /denied/ with 401, everything else with 200 after `seconds` at the most.
    """

    def __init__(self, seconds: float = 0) -> None:
        self.effects: Counter[str] = Counter()
        self.reached = threading.Event()
        self.gate = threading.Event()
        remote = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                remote.effects[self.path] += 1
                remote.reached.set()
                self.send_response(remote._answer(self.path))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *args: object) -> None:
                """A caller that was killed takes no answer."""

        self._seconds = seconds
        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _answer(self, path: str) -> int:
        if path.startswith("/held/"):
            self.gate.wait()
        elif self._seconds:
            time.sleep(random.uniform(0, self._seconds))
        if path.startswith("/late/"):
            return 504 if self.effects[path] == 1 else 200
        return {"refused": 500, "denied": 401}.get(path.split("/")[1], 200)

    def close(self) -> None:
        """Let everybody go and stop."""
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
