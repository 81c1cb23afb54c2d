"""Go on sealing under a new name and key when the old log cannot be gone on with, as after an old backup.

The new log begins with the entries that are sealed now. What the old one had beyond them is lost, and can be shown to
be: its checkpoint file is kept under another name. Run it where the worker's data directory is.
"""

import sys
from typing import Any

from django.core.management.base import CommandError

from audit.log import rotation
from gateway.operations.audit_commands.rotate_key import run, tell


def add_arguments(parser: Any) -> None:
    """Why."""
    parser.add_argument("--reason", required=True, help="kept with the new key, for whoever verifies")


def handle(options: dict[str, Any]) -> int:
    """Print the new public key, and where the old checkpoint file is."""
    if not options["reason"].strip():
        raise CommandError("--reason must say why")
    changed = run(rotation.begin_new_log(options["reason"].strip()))
    if changed.aside:
        sys.stderr.write(f"The old log's checkpoints are in {changed.aside}\n")
    tell(changed)
    return 0
