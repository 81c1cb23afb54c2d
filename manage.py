#!/usr/bin/env python
"""Django's command line for Toolgate."""

import os
import sys


def main() -> None:
    """Run one management command; a wrong setting is one clear line, not a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
    if sys.argv[1:2] == ["up"]:
        # The settings need the services' addresses, and `up` is what starts the services.
        from gateway.management.commands.up import run

        sys.exit(run(sys.argv[2:]))
    # Commands are written with hyphens, too; their modules cannot be.
    sys.argv[1:2] = [name if name.startswith("-") else name.replace("-", "_") for name in sys.argv[1:2]]
    from django.core.management import execute_from_command_line

    from gateway.process.environment import WrongSetting

    if sys.argv[1:2] == ["restore"]:
        from gateway.management.commands import restore

        if restore.needs_no_settings(sys.argv[2:]):
            sys.exit(restore.run(sys.argv[2:]))
    try:
        execute_from_command_line(sys.argv)
    except WrongSetting as wrong:
        sys.exit(f"toolgate: {wrong}")


if __name__ == "__main__":
    main()
