"""What a power cut leaves of Valkey's files: a start takes what it can read of them, or begins anew and says so."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from gateway.embedded.errors import ServiceFailed
from gateway.embedded.processes import wait_until
from gateway.embedded.services.valkey import EmbeddedValkey
from tests.gateway.embedded.conftest import PATIENCE, Running

MANIFEST, BASE, WRITTEN = "appendonly.aof.manifest", "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"
LAST = len(b"*3\r\n$3\r\nSET\r\n$4\r\nsaid\r\n$3\r\nall\r\n")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a Valkey that counted to 1000, then said so, and was killed."""
    data = tmp_path_factory.mktemp("killed")
    valkey = EmbeddedValkey(data, "secret", preferred_port=None)
    valkey.start()
    with redis.Redis.from_url(valkey.redis_url) as client:
        pipeline = client.pipeline(transaction=False)
        for _ in range(1000):
            pipeline.incr("count")
        pipeline.set("said", "all")
        pipeline.execute()
    kill(valkey)
    valkey.stop()
    return data


def kill(valkey: EmbeddedValkey) -> None:
    """End it as a power cut does, whatever it has not written."""
    assert valkey.pid is not None
    os.kill(valkey.pid, signal.SIGKILL)
    assert wait_until(lambda: not valkey.is_running(), PATIENCE)


def found(valkey: EmbeddedValkey) -> tuple[object, object]:
    """Its count, and what was said after it."""
    with redis.Redis.from_url(valkey.redis_url) as client:
        return client.get("count"), client.get("said")


def zeros(count: int) -> Callable[[Path], None]:
    """The file's last bytes have become zeros."""

    def overwrite(file: Path) -> None:
        size = file.stat().st_size
        os.truncate(file, size - count)
        os.truncate(file, size)

    return overwrite


def cut(count: int) -> Callable[[Path], None]:
    """The file's last bytes are gone."""
    return lambda file: os.truncate(file, file.stat().st_size - count)


def turned(file: Path) -> None:
    """One bit of the file is another one."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [cut(3), zeros(3), zeros(LAST)], ids=["cut", "half a command", "a command"])
def test_what_a_file_still_says_is_kept_whatever_has_become_of_its_end(
    killed: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    shutil.copytree(killed / "valkey", tmp_path / "valkey")
    damage(tmp_path / "valkey" / "appendonlydir" / WRITTEN)

    valkey = EmbeddedValkey(tmp_path, "secret", preferred_port=None)
    valkey.start()
    try:
        assert found(valkey) == (b"1000", None)
        assert valkey.take_remark() == ""
    finally:
        valkey.stop()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (MANIFEST, lambda file: os.truncate(file, 0)),
        (MANIFEST, lambda file: file.write_bytes(b"\0" * 88)),
        (MANIFEST, lambda file: file.write_bytes(b"file\n")),
        (BASE, Path.unlink),
        (BASE, turned),
        (BASE, lambda file: file.write_bytes(b"\0" * 89)),
        (WRITTEN, Path.unlink),
        (WRITTEN, lambda file: file.write_bytes(b"\0\0\0" + file.read_bytes())),
    ],
)
def test_files_that_cannot_be_read_are_set_aside_and_it_begins_empty_and_says_so_once(
    killed: Path, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    shutil.copytree(killed / "valkey", tmp_path / "valkey")
    damage(tmp_path / "valkey" / "appendonlydir" / name)
    aside = tmp_path / "valkey.damaged"
    # Of an earlier power cut.
    aside.mkdir()
    (aside / "older").touch()

    valkey = EmbeddedValkey(tmp_path, "secret", preferred_port=None)
    valkey.start()
    try:
        assert found(valkey) == (None, None)
        assert valkey.take_remark() == f"Valkey's files were damaged and are in {aside} now: limits count anew"
        assert valkey.take_remark() == ""
        assert [each.name for each in aside.iterdir()] == ["appendonlydir"]
        # What it counts from now on is kept as ever.
        with redis.Redis.from_url(valkey.redis_url) as client:
            client.incr("count")
        kill(valkey)
        valkey.restart()
        assert found(valkey) == (b"1", None)
        assert valkey.take_remark() == ""
    finally:
        valkey.stop()


def test_a_start_that_fails_for_another_reason_sets_nothing_aside(killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed / "valkey", tmp_path / "valkey")
    manifest = tmp_path / "valkey" / "appendonlydir" / MANIFEST
    manifest.rename(manifest.with_name("kept"))
    manifest.mkdir()

    valkey = EmbeddedValkey(tmp_path, "secret", preferred_port=None)
    with pytest.raises(ServiceFailed, match=r"^Valkey does not start \(.*/valkey.log\): "):
        valkey.start()

    assert (manifest.with_name("kept")).exists()
    assert not (tmp_path / "valkey.damaged").exists()
    assert not valkey.is_running()


def test_the_supervisor_says_what_was_set_aside_at_the_start_and_after_a_death(
    run: Callable[..., Running], killed: Path, tmp_path: Path
) -> None:
    files = tmp_path / "var" / "valkey" / "appendonlydir"
    shutil.copytree(killed / "valkey", tmp_path / "var" / "valkey")
    os.truncate(files / MANIFEST, 0)
    said = f"up     | Valkey's files were damaged and are in {tmp_path}/var/valkey.damaged now: limits count anew"

    running = run("--services")
    running.ready()
    assert running.lines.count(said) == 1

    os.truncate(files / MANIFEST, 0)
    os.kill(running.pid("redis"), signal.SIGKILL)
    running.line(lambda line: line.startswith("up     | redis had died and runs again"))
    running.line(lambda line: line == said)
