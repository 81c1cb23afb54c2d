"""Print the public keys of the log, oldest first: what others need to verify it with.

Give them to whoever verifies by a way that does not lead through the database.
"""

import asyncio
import sys
from typing import Any

from audit.log import rotation
from tenants.scope import transactions


def add_arguments(parser: Any) -> None:
    """Nothing."""


def handle(options: dict[str, Any]) -> int:
    """A key a line; 1 when nothing was sealed yet."""
    found = asyncio.run(_keys())
    for key in found:
        sys.stdout.write(f"{key['vkey']}\n")
    if not found:
        sys.stderr.write("Nothing was sealed yet: the first sealing makes the key.\n")
    return 0 if found else 1


async def _keys() -> list[dict[str, Any]]:
    try:
        return await rotation.public_keys()
    finally:
        await transactions.close_pools()
