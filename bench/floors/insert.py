"""`python -m bench.floors.insert CONNECTIONS SECONDS`: a bare INSERT of one row, committed."""

import os
import sys
import uuid

import psycopg
import uvloop

from bench.floors.timing import timed

TABLE = (
    "CREATE TABLE IF NOT EXISTS bench_floor (id uuid PRIMARY KEY, content text, created_at timestamptz DEFAULT now())"
)
INSERT = "INSERT INTO bench_floor (id, content) VALUES (%s, %s)"
CONTENT = "x" * 200


async def main(concurrency: int, seconds: float) -> None:
    """Time inserts, each task on a connection of its own."""
    url = os.environ["DATABASE_OWNER_URL"]
    connections = [await psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(concurrency)]
    await connections[0].execute(TABLE)

    async def once(number: int) -> None:
        await connections[number].execute(INSERT, [uuid.uuid4(), CONTENT])

    await timed(once, concurrency, seconds)
    for connection in connections:
        await connection.close()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), float(sys.argv[2])))
