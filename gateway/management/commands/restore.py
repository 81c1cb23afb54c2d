"""`manage.py restore FILE`: into an empty database; without DATABASE_URL into a new embedded one.

manage.py calls `run` before there are settings, since they need the addresses of what it starts.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.embedded.errors import EmbeddedError
from gateway.embedded.services.together import EmbeddedServices
from gateway.operations.backup import archive
from gateway.operations.backup.errors import BackupRefused
from gateway.process import environment as env

SHOW_KEYS = "--show-keys"


def needs_no_settings(arguments: list[str]) -> bool:
    """Whether it only shows keys, or restores into an embedded database, which does not run yet."""
    if SHOW_KEYS in arguments:
        return True
    embedded = env.text("TOOLGATE_ENV", "development") == "development" and not env.generated("DATABASE_URL")
    return embedded and not any(each.startswith("-") for each in arguments)


def run(arguments: list[str]) -> int:
    """Show keys; or start the embedded database, run `manage.py restore` against it, and stop it; the exit code."""
    files = [Path(each).absolute() for each in arguments if each != SHOW_KEYS]
    if len(files) != 1:
        sys.stderr.write(f"usage: manage.py restore [{SHOW_KEYS}] FILE\n")
        return 2
    try:
        if SHOW_KEYS in arguments:
            sys.stdout.write("\n".join([*archive.key_lines(files[0]), ""]))
            return 0
        # Before anything is made for a file that cannot be restored.
        archive.manifest_of(files[0])
        command = [sys.executable, str(env.ROOT / "manage.py"), "restore", str(files[0])]
        with EmbeddedServices(env.data_dir(), valkey=False) as services:
            return subprocess.run(command, env=os.environ | services.addresses(), check=False).returncode
    except (EmbeddedError, BackupRefused) as refusal:
        sys.stderr.write(f"toolgate: {refusal}\n")
        return 1


class Command(BaseCommand):
    """Restore a backup into an empty database and an empty data directory, from `manage.py backup`."""

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: Any) -> None:
        """--show-keys only prints."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            SHOW_KEYS, action="store_true", help="restore nothing, and print the keys in FILE as lines of .env"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what was restored; a refusal is one clear line."""
        from gateway.operations.backup import restoring

        source = options["file"].absolute()
        try:
            manifest = restoring.restore(source)
        except BackupRefused as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(
            f"restored {source} of {manifest.made_at}: a log of {manifest.log_size:,} entries. "
            "Start Toolgate, then see that `manage.py audit verify` says that it is intact."
        )
