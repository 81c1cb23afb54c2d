"""One of two processes that need one user's token at once: `python -m tests.connections.race TENANT USER SERVICE`."""

import asyncio
import hashlib
import sys
import uuid

import django


async def main(tenant: str, user: str, service: str) -> None:
    """Ask ten times at once, when told to; the digests of the tokens, each once."""
    from services.credentials import COLUMNS, Credential, resolver
    from tenants.scope import transactions
    from tenants.scope.transactions import TenantScope

    scope = TenantScope(uuid.UUID(tenant), uuid.UUID(user))
    async with transactions.transaction(scope) as connection:
        found = await connection.execute(f"SELECT {COLUMNS} FROM services s WHERE s.id = %s".encode(), [service])
        row = await found.fetchone()
    assert row is not None
    credential = Credential.of_row(row)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    sent = await asyncio.gather(*(resolver.headers(scope, credential) for _ in range(10)))
    sys.stdout.write(" ".join({hashlib.sha256(each["Authorization"].encode()).hexdigest() for each in sent}) + "\n")
    await transactions.close_pools()


if __name__ == "__main__":
    django.setup()
    asyncio.run(main(*sys.argv[1:]))
