"""PostgreSQL and Valkey together, for one data directory."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gateway.embedded.services.data_directory import DataDirectory
from gateway.embedded.services.postgres import EmbeddedPostgres
from gateway.embedded.services.valkey import EmbeddedValkey

PORTS = "ports.json"
Service = EmbeddedPostgres | EmbeddedValkey


class EmbeddedServices:
    """The services that run in `data_dir`: `with EmbeddedServices(path) as services: services.database_url`.

    Start them from a thread that lives as long as they shall: on Linux they end with it. A directory serves one
    EmbeddedServices at a time, one after another as often as wanted; DataDirectoryInUse otherwise.
    `durable=False` is for throwaway data; `postgres=False` or `valkey=False` leaves that one out.
    """

    def __init__(self, data_dir: Path, *, durable: bool = True, postgres: bool = True, valkey: bool = True) -> None:
        self.directory = DataDirectory(data_dir)
        self.postgres: EmbeddedPostgres | None = None
        self.valkey: EmbeddedValkey | None = None
        self._durable, self._wanted = durable, (postgres, valkey)

    def __enter__(self) -> Self:
        self.directory.claim()
        try:
            self.start()
        except BaseException:
            self.stop()
            self.directory.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.directory.release()

    def start(self) -> None:
        """Start what is wanted, in a directory that is claimed; raises EmbeddedError. Blocks until both answer."""
        passwords, known = self.directory.passwords(), self.directory.read(PORTS)
        if self._wanted[1]:
            self.valkey = EmbeddedValkey(
                self.directory.path, passwords["valkey"], preferred_port=known.get("redis"), durable=self._durable
            )
            self.valkey.start()
        if self._wanted[0]:
            self.postgres = EmbeddedPostgres(
                self.directory.path, passwords, preferred_port=known.get("postgres"), durable=self._durable
            )
            self.postgres.start()
        used = {service.name: service.port for service in self._running()}
        if used != known:
            self.directory.write(PORTS, known | used)

    def dead(self) -> list[Service]:
        """The services that have died and are to be restarted."""
        return [service for service in self._running() if not service.is_running()]

    def addresses(self) -> dict[str, str]:
        """The URLs of what runs here, under the names of their settings."""
        found = {"REDIS_URL": self.valkey.redis_url} if self.valkey is not None else {}
        if self.postgres is not None:
            found["DATABASE_URL"] = self.postgres.database_url
            found["DATABASE_OWNER_URL"] = self.postgres.database_owner_url
        return found

    def pids(self) -> list[tuple[str, int]]:
        """("postgres" or "redis", process id) of what runs here."""
        return [(service.name, service.pid) for service in self._running() if service.pid is not None]

    def leftovers(self) -> list[dict[str, Any]]:
        """How to recognise a Valkey that outlives this process; PostgreSQL has a pid file of its own."""
        valkey = self.valkey
        return [] if valkey is None else [{"pid": valkey.pid, "command": f"127.0.0.1:{valkey.port}"}]

    def take_remarks(self) -> list[str]:
        """What an operator should know of how the services started, and was not told yet."""
        remark = "" if self.valkey is None else self.valkey.take_remark()
        return [remark] if remark else []

    def stop(self) -> None:
        """End both; safe to call at any time."""
        for service in self._running():
            service.stop()

    @property
    def database_url(self) -> str:
        """The app's login."""
        assert self.postgres is not None
        return self.postgres.database_url

    @property
    def database_owner_url(self) -> str:
        """The owner's login."""
        assert self.postgres is not None
        return self.postgres.database_owner_url

    @property
    def redis_url(self) -> str:
        """Valkey's database 0."""
        assert self.valkey is not None
        return self.valkey.redis_url

    def _running(self) -> list[Service]:
        return [service for service in (self.valkey, self.postgres) if service is not None]
