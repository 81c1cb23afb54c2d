"""Files that a power cut may neither empty nor halve."""

import errno
import os
import stat
from pathlib import Path

import pytest

from tenants.scope import private_files


def test_the_disk_has_the_content_before_the_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, done = tmp_path / "kept.json", []
    file.write_bytes(b"old")
    really = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        about = os.fstat(descriptor)
        done.append("directory" if stat.S_ISDIR(about.st_mode) else f"{about.st_size} bytes")
        really[0](descriptor)

    def replace(source: Path, target: Path) -> None:
        done.append(f"{target.name} has {source.read_text()}")
        really[1](source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    # Written over a file that others may read.
    file.chmod(0o644)
    with private_files.replacing(file) as draft:
        draft.write(b"new")

    assert done == ["3 bytes", "kept.json has new", "directory"]
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["kept.json"]


def refuse(monkeypatch: pytest.MonkeyPatch, number: int, *, directories: bool) -> None:
    """Have the file system refuse to sync files, or directories."""
    really = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) is directories:
            raise OSError(number, os.strerror(number))
        really(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.json"
    file.write_bytes(b"old")

    def stop_half_way() -> None:
        with private_files.replacing(file) as draft:
            draft.write(b"ne")
            raise KeyError

    with pytest.raises(KeyError):
        stop_half_way()
    refuse(monkeypatch, errno.ENOSPC, directories=False)
    with pytest.raises(OSError, match="No space left"), private_files.replacing(file) as draft:
        draft.write(b"new")

    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["kept.json"]


def test_a_file_system_that_syncs_no_directories_is_good_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, errno.EINVAL, directories=True)
    with private_files.replacing(tmp_path / "kept.json") as draft:
        draft.write(b"new")
    assert (tmp_path / "kept.json").read_bytes() == b"new"

    refuse(monkeypatch, errno.EIO, directories=True)
    with pytest.raises(OSError, match="Input/output"), private_files.replacing(tmp_path / "kept.json") as draft:
        draft.write(b"newer")
