"""PostgreSQL and Valkey as children of the test, started for real."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
import redis

from gateway.embedded.errors import DataDirectoryInUse, ServiceFailed
from gateway.embedded.processes import LAUNCH, Account, command_line, launched, wait_until
from gateway.embedded.services import account, postgres
from gateway.embedded.services.together import EmbeddedServices
from tests.gateway.embedded.conftest import PATIENCE, ROOT, is_gone

RIGHTS = "SELECT (rolsuper, rolcreaterole, rolcreatedb, rolbypassrls)::text FROM pg_roles WHERE rolname = current_user"
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServices]:
    with EmbeddedServices(tmp_path_factory.mktemp("services"), durable=False) as running:
        yield running


def value(url: str, query: LiteralString) -> object:
    """The only value of the query's only row."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def keep_a_row(services: EmbeddedServices) -> None:
    """A table `kept` with one committed row."""
    with psycopg.connect(services.database_owner_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1")


def kill_and_restart(services: EmbeddedServices) -> None:
    """Kill both, wait until it is noticed, restart both."""
    pids = [pid for _, pid in services.pids()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: len(services.dead()) == 2, PATIENCE)
    for service in services.dead():
        service.restart()
    assert services.dead() == []


def test_the_owner_may_make_roles_and_databases_and_sees_through_row_security(services: EmbeddedServices) -> None:
    assert value(services.database_owner_url, RIGHTS) == "(f,t,t,t)"


def test_the_app_may_neither_and_is_held_by_row_security(services: EmbeddedServices) -> None:
    assert value(services.database_url, RIGHTS) == "(f,f,f,f)"
    with psycopg.connect(services.database_url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE TABLE notes ()")


def test_the_database_is_the_owners_in_utf_8_without_the_machines_locale(services: EmbeddedServices) -> None:
    about = (
        "SELECT (pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datlocprovider, datlocale)::text "
        "FROM pg_database WHERE datname = current_database()"
    )

    assert value(services.database_url, about) == "(toolgate_owner,UTF8,b,C.UTF-8)"


def test_postgresql_wants_the_password_from_everybody(services: EmbeddedServices) -> None:
    for url in (services.database_url, services.database_owner_url):
        login, address = url.split("@")
        name = login.removeprefix("postgresql://").partition(":")[0]
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(f"postgresql://{name}:wrong@{address}")


def test_valkey_wants_the_password(services: EmbeddedServices) -> None:
    assert services.valkey is not None
    with redis.Redis(port=services.valkey.port or 0) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    with redis.Redis.from_url(services.redis_url) as known:
        assert known.ping() is True


def test_no_password_is_in_a_command_line_or_readable_by_others(services: EmbeddedServices) -> None:
    secrets_file = services.directory.path / "secrets.json"
    passwords = json.loads(secrets_file.read_bytes()).values()

    lines = [command_line(pid) for _, pid in services.pids()]
    assert len(passwords) == 4
    assert len(lines) == 2
    assert all(lines)
    assert not any(password in line for password in passwords for line in lines)
    assert stat.S_IMODE(secrets_file.stat().st_mode) == 0o600


def test_a_statement_that_fails_leaves_no_password_in_the_log_which_is_its_owners_alone(
    services: EmbeddedServices,
) -> None:
    log = services.directory.path / "postgres.log"
    with psycopg.connect(services.database_owner_url) as connection, pytest.raises(psycopg.errors.DuplicateObject):
        connection.execute("CREATE ROLE toolgate LOGIN PASSWORD 'do-not-log-me'")

    assert 'role "toolgate" already exists' in log.read_text()
    assert "do-not-log-me" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_both_restart_on_their_ports_after_a_kill_with_every_committed_row(tmp_path: Path) -> None:
    with EmbeddedServices(tmp_path / "var") as services:
        urls = services.addresses()
        assert value(services.database_url, "SHOW fsync") == "on"
        keep_a_row(services)

        kill_and_restart(services)

        assert services.addresses() == urls
        assert value(services.database_owner_url, "SELECT count(*) FROM kept") == 1
        with redis.Redis.from_url(services.redis_url) as client:
            assert client.ping() is True


def test_a_second_start_keeps_rows_passwords_and_ports_also_in_a_deep_directory(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-directory-with-a-long-name"] * 6)
    with EmbeddedServices(deep, durable=False) as first:
        urls = first.addresses()
        keep_a_row(first)

    with EmbeddedServices(deep, durable=False) as second:
        assert second.addresses() == urls
        assert value(second.database_owner_url, "SELECT count(*) FROM kept") == 1


def test_a_port_that_was_taken_meanwhile_is_replaced(tmp_path: Path) -> None:
    with EmbeddedServices(tmp_path, durable=False, postgres=False) as first:
        assert first.valkey is not None
        before = first.valkey.port
        # The same port is wanted, and taken while the first one runs.
        with EmbeddedServices(tmp_path / "other", durable=False, postgres=False) as other:
            pass
        (tmp_path / "other" / "ports.json").write_text(json.dumps({"redis": before}))
        with EmbeddedServices(tmp_path / "other", durable=False, postgres=False) as other:
            assert other.valkey is not None
            assert other.valkey.port not in (None, before)


def test_two_at_a_time_in_one_directory_are_refused_and_the_first_is_left_alone(tmp_path: Path) -> None:
    with EmbeddedServices(tmp_path, durable=False, postgres=False) as first:
        pids = first.pids()

        with pytest.raises(DataDirectoryInUse, match=f"process {os.getpid()} runs Toolgate in {tmp_path} already"):
            EmbeddedServices(tmp_path, durable=False, postgres=False).__enter__()

        assert first.dead() == []
        assert first.pids() == pids


@pytest.mark.parametrize("holder", ["living", "zombie"])
def test_a_pid_file_that_names_another_process_is_no_obstacle(tmp_path: Path, holder: str) -> None:
    with EmbeddedServices(tmp_path, durable=False, valkey=False):
        pass
    with subprocess.Popen(
        [sys.executable, "-c", "" if holder == "zombie" else "import signal; signal.pause()"]
    ) as other:
        if holder == "zombie":
            os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        (tmp_path / "postgres" / "postmaster.pid").write_text(f"{other.pid}\n{tmp_path / 'postgres'}\n")

        with EmbeddedServices(tmp_path, durable=False, valkey=False) as services:
            assert value(services.database_url, "SELECT 1") == 1

        assert holder == "zombie" or other.poll() is None
        other.kill()


def test_a_postmaster_that_outlived_its_supervisor_is_ended_and_its_rows_are_kept(tmp_path: Path) -> None:
    with EmbeddedServices(tmp_path, durable=False, valkey=False) as first:
        keep_a_row(first)
        assert first.postgres is not None
        command = command_line(first.postgres.pid or 0).split(" -c ")[0].split()
        as_whom = first.postgres.account
    orphan = subprocess.Popen(launched([*command, "-c", "unix_socket_directories="], account=as_whom))

    with EmbeddedServices(tmp_path, durable=False, valkey=False) as second:
        assert value(second.database_owner_url, "SELECT count(*) FROM kept") == 1
        assert orphan.wait(PATIENCE) is not None


@linux
def test_both_end_with_the_process_that_started_them_and_start_again_after_it(tmp_path: Path) -> None:
    starts = (
        "import pathlib, signal, sys; from gateway.embedded.services.together import EmbeddedServices\n"
        "with EmbeddedServices(pathlib.Path(sys.argv[1]), durable=False) as services:\n"
        "    print(*[pid for _, pid in services.pids()], flush=True)\n"
        "    signal.pause()\n"
    )
    command = [sys.executable, "-c", starts, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        parent.kill()

    assert len(pids) == 2
    assert all(is_gone(pid) for pid in pids)
    with EmbeddedServices(tmp_path, durable=False) as services:
        assert value(services.database_url, "SELECT 1") == 1


def test_lost_passwords_are_one_clear_line_and_the_cluster_is_left_alone(tmp_path: Path) -> None:
    with EmbeddedServices(tmp_path, durable=False, valkey=False):
        pass
    kept = (tmp_path / "secrets.json").read_bytes()
    (tmp_path / "secrets.json").unlink()

    with pytest.raises(ServiceFailed, match=f"secrets.json in {tmp_path} does not hold the password"):
        EmbeddedServices(tmp_path, durable=False, valkey=False).__enter__()

    (tmp_path / "secrets.json").write_bytes(kept)
    with EmbeddedServices(tmp_path, durable=False, valkey=False) as services:
        assert value(services.database_url, "SELECT 1") == 1


def test_a_cluster_of_another_major_version_is_one_clear_line(tmp_path: Path) -> None:
    with EmbeddedServices(tmp_path, durable=False, valkey=False):
        pass
    (tmp_path / "postgres" / "PG_VERSION").write_text("12\n")

    with pytest.raises(ServiceFailed, match="was made by PostgreSQL 12, and 18 is installed now"):
        EmbeddedServices(tmp_path, durable=False, valkey=False).__enter__()


@as_root
def test_roots_postgresql_is_not_roots_and_may_pass_the_closed_directory_it_lies_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    programs = postgres.installed_programs()
    account.copy_package(programs.parent, tmp_path / "packages")
    closed = tmp_path / "packages" / programs.relative_to(programs.parents[2])
    monkeypatch.setattr(postgres, "installed_programs", lambda: closed)
    with EmbeddedServices(tmp_path / "var", durable=False, valkey=False) as services:
        assert services.postgres is not None
        assert command_line(services.postgres.pid or 0).startswith(str(tmp_path))
        status = Path(f"/proc/{services.postgres.pid}/status").read_text()
        lines = dict(line.split(":\t") for line in status.splitlines() if line.startswith(("Uid", "CapPrm", "CapAmb")))

    assert "0" not in lines["Uid"].split()
    # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, no more.
    assert (int(lines["CapPrm"], 16), int(lines["CapAmb"], 16)) == (6, 6)


@as_root
def test_root_without_that_capability_runs_a_copy_in_an_open_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_place = Path(tempfile.mkdtemp(prefix="toolgate-test-", dir="/var/tmp"))
    open_place.chmod(0o755)
    monkeypatch.setattr(account, "OPEN_PLACES", (open_place,))
    really_runs = account._runs
    monkeypatch.setattr(account, "_runs", lambda *where: not where[2].see_all and really_runs(*where))
    try:
        for _ in range(2):
            with EmbeddedServices(tmp_path / "var", durable=False, valkey=False) as services:
                assert value(services.database_url, "SELECT 1") == 1
                assert services.postgres is not None
                assert command_line(services.postgres.pid or 0).startswith(str(open_place))
        assert not (tmp_path / "var" / "postgres").exists()
    finally:
        subprocess.run(["rm", "-rf", str(open_place)], check=True)


@as_root
def test_root_who_may_become_nobody_at_all_is_told_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_place = tmp_path / "open"
    open_place.mkdir()
    monkeypatch.setattr(account, "OPEN_PLACES", (open_place,))
    monkeypatch.setattr(account, "_runs", lambda *where: False)

    with pytest.raises(ServiceFailed, match=r"^PostgreSQL refuses to run as root, and this root may not .*$"):
        EmbeddedServices(tmp_path / "var", durable=False, valkey=False).__enter__()


@linux
def test_a_child_whose_parent_has_ended_before_it_could_ask_does_not_start() -> None:
    command = launched(["/bin/echo", "started"])
    command[command.index("--parent") + 1] = str(os.getppid())

    ended = subprocess.run(command, check=False, capture_output=True, text=True)

    assert command[3] == str(LAUNCH)
    assert (ended.returncode, ended.stdout) == (1, "")


@as_root
def test_an_account_without_see_all_keeps_no_capability() -> None:
    command = launched(["/bin/cat", "/proc/self/status"], account=Account(65534, 65534))
    ended = subprocess.run(command, check=True, capture_output=True, text=True)

    assert "Uid:\t65534\t65534\t65534\t65534" in ended.stdout
    assert "CapPrm:\t0000000000000000" in ended.stdout
    assert "Groups:\t \n" in ended.stdout
