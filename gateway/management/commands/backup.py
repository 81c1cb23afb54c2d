"""`manage.py backup FILE [--without-keys]`."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gateway.operations.backup import making
from gateway.operations.backup.errors import BackupRefused


class Command(BaseCommand):
    """Write database, keys and signed heads to one new file, while Toolgate runs.

    Whoever has the file has every tenant's data, and without --without-keys the keys as well.
    """

    help = __doc__ or ""
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: Any) -> None:
        """FILE must not exist."""
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--without-keys", action="store_true", help="leave out SECRET_KEY, TOOLGATE_ENCRYPTION_KEYS, ledger.key"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints what is in it; a refusal is one clear line."""
        target = options["file"].absolute()
        try:
            manifest = making.make(target, with_keys=not options["without_keys"])
        except BackupRefused as refused:
            raise CommandError(str(refused)) from refused
        length = target.stat().st_size
        self.stdout.write(
            f"{target}: {length:,} bytes, PostgreSQL {manifest.server_major}, a log of {manifest.log_size:,} entries. "
            + ("It is secret: it holds all data and the keys." if manifest.with_keys else "It is secret: all data.")
        )
