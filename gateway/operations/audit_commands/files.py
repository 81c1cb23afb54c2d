"""The files that the operator has written."""

import os
from collections.abc import Iterable
from pathlib import Path

from django.core.management.base import CommandError


def write(path: Path, lines: Iterable[bytes]) -> None:
    """Write all of the lines into a file that only its owner reads, or nothing; raises CommandError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for line in lines:
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error}") from None
    finally:
        draft.unlink(missing_ok=True)
