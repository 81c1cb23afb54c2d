"""Which user PostgreSQL runs as, and where: it refuses root.

As an ordinary user: as that user, in the data directory. As root, the first that works here:

1. as the user who owns the data already, else `nobody`, with no privilege, when every directory on the way is open;
2. the same, keeping (on Linux) the capability to pass directories that are closed to that user, such as /root;
3. the same user in a directory of root's under /var that is open, with a copy of PostgreSQL's programs beside it.
"""

import hashlib
import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gateway.embedded.errors import ServiceFailed
from gateway.embedded.processes import Account, launched

OPEN_PLACES = (Path("/var/lib"), Path("/var/db"), Path("/var/tmp"))
OTHERS_READ, OTHERS_PASS = stat.S_IROTH, stat.S_IXOTH


@dataclass(frozen=True)
class Home:
    """Where PostgreSQL's programs (`bin`) and its cluster (`data`) are, and the account it runs as (None: our own)."""

    bin: Path
    data: Path
    account: Account | None = None

    def own(self, path: Path | int) -> None:
        """Give a path or an open file to the account."""
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)


def find_home(programs: Path, data: Path) -> Home:
    """Decide for PostgreSQL's `bin` directory and a cluster in `data`; raises ServiceFailed when nothing works."""
    if os.geteuid() != 0:
        return Home(programs, data)
    uid, gid = _unprivileged(data)
    for account in (Account(uid, gid), Account(uid, gid, see_all=True)):
        if (account.see_all or _open_to_others(programs / "postgres", data.parent)) and _runs(programs, data, account):
            return Home(programs, data, account)
    account = Account(uid, gid)
    place = _open_copy(programs, data)
    copied = place / "packages" / programs.relative_to(programs.parents[2])
    if _runs(copied, place / "postgres", account):
        return Home(copied, place / "postgres", account)
    raise ServiceFailed(
        "PostgreSQL refuses to run as root, and this root may not run it as another user; "
        "run as an ordinary user, or set DATABASE_URL, DATABASE_OWNER_URL"
    )


def _unprivileged(data: Path) -> tuple[int, int]:
    if data.exists() and data.stat().st_uid != 0:
        return data.stat().st_uid, data.stat().st_gid
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise ServiceFailed(
            "PostgreSQL refuses to run as root, and there is no user `nobody` to run it as; "
            "run as an ordinary user, or set DATABASE_URL, DATABASE_OWNER_URL"
        ) from None
    return nobody.pw_uid, nobody.pw_gid


def _open_to_others(program: Path, directory: Path) -> bool:
    ways = (program, *program.parents, directory, *directory.parents)
    return bool(program.stat().st_mode & OTHERS_READ) and all(way.stat().st_mode & OTHERS_PASS for way in ways)


def _runs(programs: Path, data: Path, account: Account) -> bool:
    """Whether initdb, which looks for all that it needs and for who it is, gets as far as showing its settings."""
    trial = launched([programs / "initdb", "--show", "-D", data], account=account)
    return subprocess.run(trial, check=False, capture_output=True, env={"LC_ALL": "C"}).returncode == 0


def _open_copy(programs: Path, data: Path) -> Path:
    """A directory of root's that everyone may pass, the same at each start, with PostgreSQL's package in it."""
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    home = next(place for place in OPEN_PLACES if place.is_dir()) / f"toolgate-{digest}"
    home.mkdir(mode=0o755, exist_ok=True)
    found = home.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0:
        raise ServiceFailed(f"{home} belongs to somebody else; remove it, or run as an ordinary user")
    home.chmod(0o755)
    installation = programs.parent
    if not (home / "packages" / installation.parent.name / installation.name).exists():
        copy_package(installation, home / "packages")
    return home


def copy_package(installation: Path, packages: Path) -> None:
    """Copy one PostgreSQL installation and the libraries beside its package, which it finds by relative paths."""
    draft = packages.with_suffix(".draft")
    shutil.rmtree(draft, ignore_errors=True)
    package = installation.parent
    shutil.copytree(installation, draft / package.name / installation.name, symlinks=True)
    for libraries in (*package.glob(".dylibs"), *package.parent.glob(f"{package.name}.libs")):
        shutil.copytree(libraries, draft / libraries.relative_to(package.parent), symlinks=True)
    for path in (draft, *draft.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(packages, ignore_errors=True)
    draft.rename(packages)
