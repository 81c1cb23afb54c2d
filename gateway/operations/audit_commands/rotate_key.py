"""Sign the log with a new key from now on, which the old one endorses; the old private key is removed.

Run it where the worker's data directory is.
"""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from django.core.management.base import CommandError

from audit.log import rotation
from audit.log.errors import SealingRefused
from audit.log.rotation import Changed
from gateway.process.environment import WrongSetting
from tenants.scope import transactions


def add_arguments(parser: Any) -> None:
    """Nothing."""


def handle(options: dict[str, Any]) -> int:
    """Print the new public key, and the private one where the operator keeps it."""
    tell(run(rotation.rotate()))
    return 0


def run(change: Coroutine[Any, Any, Changed]) -> Changed:
    """What was changed; CommandError when that was refused."""

    async def closing() -> Changed:
        try:
            return await change
        finally:
            await transactions.close_pools()

    try:
        return asyncio.run(closing())
    except (SealingRefused, WrongSetting) as refusal:
        raise CommandError(str(refusal)) from None


def tell(changed: Changed) -> None:
    """The new public key on standard output; before it, where the operator keeps the key, the private one."""
    if changed.private:
        sys.stderr.write("Put this into TOOLGATE_LEDGER_KEY and restart the worker; until then nothing is sealed:\n")
        sys.stdout.write(f"{changed.private}\n")
    sys.stderr.write(f"The log is signed with this key from entry {changed.size} on:\n")
    sys.stdout.write(f"{changed.vkey}\n")
