"""`manage.py rotate-encryption-key`: encrypt again with the first key what an older one encrypts; say what is left."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tenants.people import rotation
from tenants.people.rotation import Count

_NEXT = (
    "Take the older keys out of TOOLGATE_ENCRYPTION_KEYS once every web process, worker and beat runs with the new key "
    "in front, and `manage.py rotate-encryption-key --check` says this again."
)


class Command(BaseCommand):
    """See the module."""

    help = "Encrypt secrets again with the first of TOOLGATE_ENCRYPTION_KEYS, while everything runs."
    requires_migrations_checks = True

    def add_arguments(self, parser: CommandParser) -> None:
        """`--check` changes nothing."""
        parser.add_argument("--check", action="store_true", help="only say what still needs an older key")
        parser.add_argument("--batch", type=int, default=rotation.BATCH, help="values in one transaction")

    def handle(self, *args: Any, check: bool, batch: int, **options: Any) -> None:
        """Go through every column; then look again, since others write meanwhile. Fails unless nothing is left."""
        if batch < 1:
            raise CommandError("--batch must be 1 or more.")
        if not check:
            for column in rotation.columns():
                for done in rotation.rotate(column, batch):
                    self._say(f"{column}: {done} so far")
        total = Count()
        for column in rotation.columns():
            found = rotation.count(column, batch)
            total += found
            self._say(
                f"{column}: {found.current} with the first key, {found.old} with an older one, "
                f"{found.unreadable} with none of them"
            )
        if total.unreadable:
            raise CommandError(
                f"Not done: {total.unreadable} cannot be decrypted with any key of TOOLGATE_ENCRYPTION_KEYS. Add the "
                "key that they were encrypted with, or have their owners set them again."
            )
        if total.old:
            again = "Run this again without --check." if check else "Something still writes with an older key in front."
            raise CommandError(f"Not done: {total.old} still need an older key. {again}")
        self._say(f"Done: nothing needs any key but the first. {_NEXT}")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
