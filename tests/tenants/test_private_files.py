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
    private_files.replace(file, b"new")

    assert done == ["3 bytes", "kept.json has new", "directory"]
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["kept.json"]


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.json"
    file.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        private_files.replace(file, b"new")

    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["kept.json"]
