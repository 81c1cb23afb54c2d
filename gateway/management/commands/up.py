"""`manage.py up`: run everything in the foreground.

manage.py calls `run` before there are settings, since they need the addresses of what `up` starts.
"""

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand

from gateway.embedded import configuration
from gateway.embedded.errors import EmbeddedError
from gateway.embedded.output import Output
from gateway.embedded.supervisor import Supervisor
from gateway.process.environment import WrongSetting


def run(arguments: list[str]) -> int:
    """Run until a signal asks to stop; the exit code. What cannot start is one clear line on standard error."""
    parser = argparse.ArgumentParser(prog="manage.py up", description="Run Toolgate and all it needs.")
    parser.add_argument("--parent", type=int, help="stop when this process is no longer the parent")
    options = parser.parse_args(arguments)
    try:
        return Supervisor(configuration.read(), Output(), parent=options.parent).run()
    except (EmbeddedError, WrongSetting) as refusal:
        sys.stderr.write(f"toolgate: {refusal}\n")
        return 1


class Command(BaseCommand):
    """Lists `up` in `manage.py help`."""

    help = "Run Toolgate and all it needs in the foreground."

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit with the supervisor's code."""
        sys.exit(run([]))
