"""`python -m gateway.embedded.preparation`: everything before the first request, in one Django process.

Sets up the database's roles, migrates, and in development seeds the demo tenants. Standard output carries only
what `seed_demo` prints, one JSON object, or nothing; a refusal is one clear line on standard error.
"""

import io
import os
import sys


def main() -> int:
    """The exit code: 0 when the database is ready to be used."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
    from django.core.management.base import CommandError

    from gateway.process.environment import WrongSetting
    from tools.schemas.schema import InvalidToolDeclaration

    try:
        sys.stdout.write(_prepare())
    except (WrongSetting, CommandError, InvalidToolDeclaration) as refusal:
        sys.stderr.write(f"toolgate: {refusal}\n")
        return 1
    return 0


def _prepare() -> str:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from tools.registry import registry

    # First, so that nothing is changed by a version that would not start.
    registry()
    call_command("setup_database", stdout=sys.stderr)
    call_command("migrate", interactive=False, skip_checks=True, verbosity=0)
    seeded = io.StringIO()
    if settings.DEVELOPMENT:
        call_command("seed_demo", stdout=seeded)
    return seeded.getvalue()


if __name__ == "__main__":
    sys.exit(main())
