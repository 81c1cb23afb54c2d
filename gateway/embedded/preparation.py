"""`python -m gateway.embedded.preparation`: everything before the first request, in one Django process.

Sets up the database's roles, migrates, and in development seeds the demo tenants. Standard output carries only
what `seed_demo` prints, one JSON object, or nothing; a refusal is one clear line on standard error.
"""

import io
import os
import sys


def main() -> int:
    """The exit code: 0 when the database is ready to be used."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    from django.core.management.base import CommandError

    from gateway.environment import WrongSetting

    try:
        print(_prepare(), end="", flush=True)
    except (WrongSetting, CommandError) as refusal:
        print(f"toolgate: {refusal}", file=sys.stderr)
        return 1
    return 0


def _prepare() -> str:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections
    from django.db.migrations.executor import MigrationExecutor

    call_command("setup_database", stdout=sys.stderr)
    executor = MigrationExecutor(connections["owner"])
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command(
            "migrate",
            database="owner",
            interactive=False,
            skip_checks=True,
            stdout=sys.stderr,
        )
    seeded = io.StringIO()
    if settings.DEVELOPMENT:
        call_command("seed_demo", stdout=seeded)
    return seeded.getvalue()


if __name__ == "__main__":
    sys.exit(main())
