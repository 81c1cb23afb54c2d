"""`make` installs what a lock file lists, whatever is published after it was made."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

MAKEFILE = Path(__file__).resolve().parent.parent / "Makefile"


def _wheel(folder: Path, name: str, version: str, *fields: str) -> str:
    """Write an empty package with these fields of METADATA, and return its SHA-256."""
    path, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *fields, ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_release_after_the_lock_changes_nothing(tmp_path: Path) -> None:
    """pip 23.2, which Python 3.11.7 brings, looks for the newest `held` where only `held[more]` is asked for."""
    registry, checkout = tmp_path / "registry", tmp_path / "checkout"
    registry.mkdir()
    checkout.mkdir()
    holder = _wheel(registry, "holder", "1.0", "Requires-Dist: held[more]>=1")
    held = _wheel(registry, "held", "1.0", "Provides-Extra: more")
    _wheel(registry, "held", "1.1", "Provides-Extra: more")
    shutil.copy(MAKEFILE, checkout)
    lock = f"held==1.0 --hash=sha256:{held}\nholder==1.0 --hash=sha256:{holder}\n"
    (checkout / "requirements.lock").write_text(lock)

    made = subprocess.run(
        ["make", "venv", f"PYTHON={sys.executable}"],
        cwd=checkout,
        env=os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(registry)},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    found = {path.name for path in checkout.glob(".venv/lib/python*/site-packages/held-*")}
    assert found == {"held-1.0.dist-info"}
