"""Whoever has a file, a public key and docs/verify.py, and nothing else."""

import subprocess
import sys
from pathlib import Path

VERIFIER = Path(__file__).resolve().parents[2] / "docs" / "verify.py"


def checked(directory: Path, content: str | bytes, *keys: str) -> tuple[int, str]:
    """What docs/verify.py says of a file, in a directory where there is nothing else: its exit code and its words."""
    file = directory / "given"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    arguments = [word for key in keys for word in ("--public-key", key)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(VERIFIER), "given", *arguments],
        cwd=directory,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout
