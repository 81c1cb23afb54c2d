"""`make` installs what a lock file lists, whatever is published after it was made."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
MAKEFILE = ROOT / "Makefile"


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


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_lists_all_that_its_packages_need(lock: str) -> None:
    """pip installs the list as it is, so nobody else would miss a package before it is imported."""
    listed = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"] + (project["dependency-groups"]["dev"] if "dev" in lock else [])
    open_ones, seen, missing = [Requirement(each) for each in wanted], set(), []
    while open_ones:
        asked = open_ones.pop()
        name = canonicalize_name(asked.name)
        if name not in listed or not asked.specifier.contains(listed[name], prereleases=True):
            missing.append(str(asked))
            continue
        for extra in ("", *asked.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            needs = [Requirement(each) for each in metadata.requires(name) or ()]
            open_ones += [each for each in needs if each.marker is None or each.marker.evaluate({"extra": extra})]
    assert missing == []
    assert len(seen) > len(wanted)
