"""`python -m bench.parked [COUNT]`: what COUNT parents that wait for their children (default 10,000) cost the sweeper,
the database and the process that sweeps, beside as many runs that wait for a human.

Each parent's child is one of those that wait for a human, so that what it costs is what comes on top of them.
"""

import asyncio
import resource
import statistics
import sys
import time
from typing import Any

import orjson
import psycopg

from bench.parts.waiting import FILL, INPUT, PROFILE
from bench.rig.database import migrated

ROUNDS = 15
TABLES = ("runs", "conversations", "messages", "turns", "tool_calls", "approval_requests")
# As the loop leaves a parent of each of those runs: in its first turn one call waits for the child.
_PARENTS = """
    CREATE TEMPORARY TABLE parked AS
    SELECT w.run AS child, w.tenant, w.owner, gen_random_uuid() AS run, gen_random_uuid() AS conversation,
        gen_random_uuid() AS message,
        overlay(gen_random_uuid()::text placing left(uuid_v7_floor(now())::text, 15) from 1 for 15)::uuid AS call
    FROM waiting w;
    INSERT INTO conversations (id, tenant_id, user_id, title) SELECT conversation, tenant, owner, 'waits' FROM parked;
    INSERT INTO runs (id, tenant_id, user_id, conversation_id, message_id, profile, model, status, turns, open_calls)
        SELECT run, tenant, owner, conversation, message, %(profile)s, 'openai/chat', 'waiting', 1, 1 FROM parked;
    INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)
        SELECT gen_random_uuid(), tenant, owner, conversation, run, 'user', 'Write to Bob.' FROM parked;
    INSERT INTO turns (id, tenant_id, user_id, run_id, number, attempt, text, calls, finish_reason)
        SELECT gen_random_uuid(), tenant, owner, run, 1, 100, 'I will ask.', 1, 'tool_calls' FROM parked;
    INSERT INTO tool_calls (id, tenant_id, user_id, conversation_id, message_id, run_id, turn, position, tool_name,
            tier, input, status, params_hash, row_key, waits_on_run, attempt, fence, started_at)
        SELECT call, tenant, owner, conversation, message, run, 1, 0, 'subagent', 'workspace', %(input)s, 'running',
            %(params_hash)s, sha256(call::text::bytea), child, 1, 1, now() FROM parked;
    UPDATE runs r SET parent_run_id = p.run, parent_call_id = p.call, root_run_id = p.run, depth = 1, kind = 'worker'
        FROM parked p WHERE r.id = p.child"""


def main() -> int:
    """Fill a database, measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with migrated() as (services, _):
        _measure(services.database_owner_url, count)
    return 0


def _measure(owner_url: str, count: int) -> None:
    from tests.people import make_tenant

    tenant = make_tenant()
    with psycopg.connect(owner_url, autocommit=True) as owner:
        values = {
            "tenant": tenant.id,
            "users": [tenant.alice.scope.user_id, tenant.bob.scope.user_id],
            "count": count,
            "profile": orjson.dumps(PROFILE).decode(),
            "input": orjson.dumps(INPUT).decode(),
            "params_hash": "0" * 64,
            "schema_hash": "0" * 64,
        }
        found = [("nothing waits", *_costs(owner))]
        _run(owner, FILL, values)
        found.append((f"{count:,} runs wait for a human", *_costs(owner)))
        _run(owner, _PARENTS, values)
        found.append((f"{count:,} parents wait for those", *_costs(owner)))
    print(f"{'':<36}{'sweep, ms':>12}{'ended, ms':>12}{'rows, MiB':>12}{'RSS, MiB':>12}")
    for title, *figures in found:
        print(f"{title:<36}" + "".join(f"{figure:>12.1f}" for figure in figures))
    (_, *none), (_, *waiting), (_, *parked) = found
    print(f"{'parents / runs that wait':<36}" + "".join(map(_ratio, none, waiting, parked)))


def _ratio(none: float, waiting: float, parked: float) -> str:
    """What the parents added, by what the same number of waiting runs had added; nothing where that is nothing."""
    added = waiting - none
    return f"{(parked - waiting) / added:>12.2f}" if added > 0.05 * max(none, 1) else f"{'–':>12}"


def _run(owner: "psycopg.Connection[Any]", statements: str, values: dict[str, Any]) -> None:
    for statement in statements.split(";"):
        owner.execute(statement.encode(), {name: each for name, each in values.items() if f"%({name})s" in statement})


def _costs(owner: "psycopg.Connection[Any]") -> tuple[float, float, float, float]:
    """A whole sweep and its search for ended calls, in milliseconds; the tables with their indexes, and this process's
    memory, in MiB."""
    from gateway.operations import sweeper

    owner.execute("VACUUM ANALYZE")
    sizes = [
        f"(SELECT coalesce(sum(pg_total_relation_size(relid)), 0) FROM pg_partition_tree('{each}'))" for each in TABLES
    ]
    row = owner.execute(f"SELECT {' + '.join(sizes)}".encode()).fetchone()
    assert row is not None

    async def sweeps() -> float:
        took = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            swept = await sweeper.sweep()
            took.append(time.perf_counter() - began)
            assert not swept["ended_children"] and not swept["driverless_runs"], swept
        return statistics.median(took)

    swept = asyncio.run(sweeps())
    ended = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        owner.execute(sweeper.ENDED_CALLS.encode(), [sweeper.BATCH]).fetchall()
        ended.append(time.perf_counter() - began)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return 1000 * swept, 1000 * statistics.median(ended), float(row[0]) / 2**20, memory


if __name__ == "__main__":
    sys.exit(main())
