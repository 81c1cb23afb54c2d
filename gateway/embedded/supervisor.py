"""Runs all of Toolgate in the foreground: services, set-up, web, worker and beat, each started again when it dies."""

import json
import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from gateway.embedded import commands, demo
from gateway.embedded.child import Child, Command
from gateway.embedded.configuration import Configuration
from gateway.embedded.errors import ServiceFailed
from gateway.embedded.output import Output
from gateway.embedded.processes import end_leftover
from gateway.embedded.readiness import Readiness
from gateway.embedded.services.together import EmbeddedServices
from gateway.embedded.signals import Signals, Stopped

SERVICES, DEMO, CHILDREN = "services.json", "demo.json", "children.json"
# How often it checks for its own parent, and how long a process may take to stop.
TICK_SECONDS, STOP_SECONDS = 0.5, 10.0
SLOW_START_SECONDS = 30.0
SERVICE_RETRY_SECONDS = 2.0


class Supervisor:
    """Runs `configuration` until a signal asks to stop, or `parent` (a process id) is no longer the parent.

    `preparation` makes the command of the set-up process, whose standard output is `{"tenants": …}` or empty;
    `processes` those that run afterwards.
    """

    def __init__(
        self,
        configuration: Configuration,
        output: Output,
        *,
        parent: int | None = None,
        preparation: Callable[[Configuration, dict[str, str]], Command] = commands.preparation,
        processes: commands.Plan = commands.processes,
    ) -> None:
        self._configuration, self._output, self._parent = configuration, output, parent
        self._make_preparation, self._make_processes = preparation, processes
        self._services = EmbeddedServices(
            configuration.data_dir, postgres=configuration.embeds_postgres, valkey=configuration.embeds_valkey
        )
        self._directory = self._services.directory
        self._signals = Signals()
        self._listening: socket.socket | None = None
        self._addresses: dict[str, str] = {}
        self._tenants: dict[str, Any] = {}
        self._preparing: Child | None = None
        self._children: list[Child] = []
        self._readiness: Readiness | None = None
        self._setup_failed = self._announced = False
        self._services_retry_at = 0.0
        self._began = time.monotonic()

    def run(self) -> int:
        """The exit code: 0 after SIGTERM, 130 after SIGINT, 1 when the set-up failed and has printed why.

        Raises EmbeddedError or WrongSetting when it cannot start.
        """
        self._signals.install()
        try:
            with self._signals.interrupting():
                self._directory.claim()
            self._run_claimed()
        except Stopped:
            pass
        finally:
            self._directory.release()
            self._signals.restore()
            self._output.drain(1.0)
        return 1 if self._setup_failed else self._signals.exit_code or 0

    def _run_claimed(self) -> None:
        try:
            with self._signals.interrupting():
                self._begin()
            while not (self._signals.stop_requested or self._setup_failed or self._is_orphan()):
                self._wait(TICK_SECONDS)
                self._tend()
        finally:
            self._directory.stopping()
            self._stop()

    def _begin(self) -> None:
        """Everything up to the start of the set-up process."""
        self._end_leftovers()
        self._listening = self._configuration.listen()
        self._services.start()
        for remark in self._services.take_remarks():
            self._say(remark)
        # The actual port, also where the configuration allows any.
        port = str(self._listening.getsockname()[1])
        self._addresses = self._configuration.addresses(self._services.addresses()) | {"PORT": port}
        self._directory.write(SERVICES, self._addresses)
        self._preparing = self._child(
            self._make_preparation(self._configuration, self._addresses), on_result=self._take_tenants
        )
        self._preparing.start()

    def _end_leftovers(self) -> None:
        """End what an earlier supervisor left behind where children do not end with their parent."""
        for entry in self._directory.read(CHILDREN).get("processes", []):
            end_leftover(entry["pid"], entry["command"], [(signal.SIGTERM, 3.0)])
        for name in (DEMO, SERVICES, CHILDREN):
            self._directory.remove(name)

    def _take_tenants(self, printed: bytes) -> None:
        self._tenants = json.loads(printed)["tenants"] if printed.strip() else {}

    def _wait(self, seconds: float) -> None:
        """Pass output on, until something happens or the time is over."""
        everyone = [*self._children, *([self._preparing] if self._preparing else [])]
        owners = {stream: child for child in everyone for stream in child.streams}
        due = [child.starts_at - time.monotonic() for child in self._children if child.pid is None]
        seconds = max(0.0, min([seconds, *due]))
        waited = [self._signals.descriptor, *(stream.fileno() for stream in owners)]
        readable, writable, _ = select.select(waited, self._output.waits_for, [], seconds)
        for stream, child in owners.items():
            if stream.fileno() in readable:
                child.read(stream)
        if writable:
            self._output.write()
        self._signals.clear()

    def _tend(self) -> None:
        """Restart what has died, and continue when the set-up has ended or everything is ready."""
        self._tend_services()
        if self._preparing is not None:
            self._tend_preparation(self._preparing)
        becomes_ready = self._readiness is not None and self._readiness.reached.is_set() and not self._announced
        if becomes_ready:
            for child in self._children:
                child.starts_at = 0.0
        started = [child for child in self._children if self._tend_child(child)]
        if started:
            self._publish()
        if becomes_ready:
            self._announce()
        elif self._readiness is not None and not self._announced:
            self._say_if_slow(self._readiness)

    def _tend_services(self) -> None:
        if time.monotonic() < self._services_retry_at:
            return
        for service in self._services.dead():
            try:
                with self._signals.interrupting():
                    service.restart()
            except ServiceFailed as failure:
                self._services_retry_at = time.monotonic() + SERVICE_RETRY_SECONDS
                self._say(f"{failure}; trying again")
            else:
                self._publish()
                self._say(f"{service.name} had died and runs again as process {service.pid}")
                for remark in self._services.take_remarks():
                    self._say(remark)

    def _tend_preparation(self, preparing: Child) -> None:
        code = preparing.ended()
        if code is None:
            return
        if code > 0:
            self._setup_failed = True
        elif code < 0:  # Killed from outside: it did nothing wrong.
            preparing.start()
        else:
            self._preparing = None
            self._plan()

    def _plan(self) -> None:
        """Make the children, which `_tend_child` then starts, and start polling their readiness."""
        assert self._listening is not None
        plan = self._make_processes(self._configuration, self._addresses, self._listening.fileno())
        self._children = [self._child(command) for command in plan]
        for child in self._children:
            child.starts_at = math.inf if child.command.last else 0.0
        host, port = self._listening.getsockname()[:2]
        self._readiness = Readiness(host, port, self._configuration.host_header, self._signals.wake)
        self._readiness.start()

    def _tend_child(self, child: Child) -> bool:
        """Whether it was started."""
        code = child.ended()
        if code is not None:
            self._say(f"{child.command.name} ended ({_how(code)}); starting it again")
        if child.pid is None and time.monotonic() >= child.starts_at:
            child.start()
            return True
        return False

    def _publish(self) -> None:
        """Write down what runs now, for programs and for the next start."""
        children = [(child.command, child.pid) for child in self._children if child.pid is not None]
        left = [{"pid": pid, "command": " ".join(command.words[1:])} for command, pid in children]
        self._directory.write(CHILDREN, {"processes": [*left, *self._services.leftovers()]})
        if self._children and not self._configuration.production:
            pids = [*((command.name, pid) for command, pid in children), *self._services.pids()]
            self._directory.write(
                DEMO, demo.document(url=self._url, tenants=self._tenants, addresses=self._addresses, pids=pids)
            )

    def _announce(self) -> None:
        self._announced = True
        file = self._directory.path / DEMO
        for line in demo.introduction(self._url, self._tenants, str(file)) if self._tenants else ():
            self._output.line(line)
        self._output.line(f"ready {self._url}")

    def _say_if_slow(self, readiness: Readiness) -> None:
        if time.monotonic() - self._began > SLOW_START_SECONDS:
            self._began = time.monotonic()
            self._say(f"not ready yet; /readyz says: {readiness.last}")

    def _stop(self) -> None:
        """End all processes, those that use the services before the services."""
        if self._readiness is not None:
            self._readiness.stop()
        if self._listening is not None:
            self._listening.close()
        everyone = [*self._children, *([self._preparing] if self._preparing else [])]
        _tell(everyone, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while _still_running(everyone):
            if self._signals.impatient or time.monotonic() >= deadline:
                _tell(everyone, signal.SIGKILL)
            self._wait(0.1)
        self._services.stop()
        for name in (DEMO, SERVICES, CHILDREN):
            self._directory.remove(name)

    def _is_orphan(self) -> bool:
        return self._parent is not None and os.getppid() != self._parent

    def _child(self, command: Command, on_result: Callable[[bytes], None] | None = None) -> Child:
        return Child(command, self._configuration.root, self._output.line_of, on_result)

    def _say(self, text: str) -> None:
        self._output.line_of("up", text.encode())

    @property
    def _url(self) -> str:
        assert self._listening is not None
        host = f"[{self._configuration.host}]" if ":" in self._configuration.host else self._configuration.host
        return f"http://{host}:{self._listening.getsockname()[1]}"


def _tell(children: Iterable[Child], number: signal.Signals) -> None:
    for child in children:
        child.signal(number)


def _still_running(children: Iterable[Child]) -> bool:
    for child in children:
        child.ended()
    return any(child.pid is not None for child in children)


def _how(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
