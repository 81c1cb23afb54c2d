"""Files of the data directory that must not be lost: written wholly or not at all, also when the power fails."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """What is written becomes the file `path`, which only its owner reads; the disk has it after. Raises OSError.

    An exception within leaves the file as it was.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(draft, "xb", opener=_private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    """Have the disk know the names in a directory, where its file system can do that."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    except OSError as error:
        # So say file systems that know files only, as some of networks and virtual machines.
        if error.errno not in (errno.EINVAL, errno.EBADF):
            raise
    finally:
        os.close(directory)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
