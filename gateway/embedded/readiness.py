"""Polls the readiness of a starting web process, in a thread beside the supervisor."""

import http.client
import threading
from collections.abc import Callable

BETWEEN_SECONDS, ANSWER_SECONDS = 0.1, 5.0


class Readiness:
    """Asks `/readyz` until it answers 200, then calls `on_ready` from its own thread; `last` is the last answer."""

    def __init__(self, host: str, port: int, host_header: str, on_ready: Callable[[], None]) -> None:
        self.last = "no answer"
        self.reached = threading.Event()
        self._address, self._host_header, self._on_ready = ((host, port), host_header, on_ready)
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start polling."""
        threading.Thread(target=self._ask_until_ready, name="readiness", daemon=True).start()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()

    def _ask_until_ready(self) -> None:
        while not self._stopped.is_set():
            if self._is_ready():
                self.reached.set()
                self._on_ready()
                return
            self._stopped.wait(BETWEEN_SECONDS)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection(*self._address, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/readyz", headers={"Host": self._host_header})
            answer = connection.getresponse()
            self.last = f"{answer.status} {answer.read(500).decode(errors='replace').strip()}"
        except (OSError, http.client.HTTPException) as error:
            self.last = str(error) or type(error).__name__
            return False
        finally:
            connection.close()
        return answer.status == 200
