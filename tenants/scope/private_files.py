"""Files of the data directory that must not be lost: written wholly or not at all, also when the power fails."""

import os
import secrets
from pathlib import Path


def replace(path: Path, content: bytes) -> None:
    """Put a file in the place of `path` that only its owner reads; the disk has it then. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(draft, "xb", opener=_private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # The name is on the disk when its directory is.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
