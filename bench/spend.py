"""`python -m bench.spend [--rows N]`: what `/settings/spend/` costs over many rows of usage.

Beside the page's whole answer is the barest query that answers the same: by the owner, without row-level security.
"""

import argparse
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import psycopg

from bench.rig.database import migrated

ROUNDS = 5
_FILL = """
    INSERT INTO turn_usage (tenant_id, user_id, run_id, turn, model, input_tokens, output_tokens, cost, at)
    SELECT %s, %s, gen_random_uuid(), 1, 'openai/model-' || n %% 12, n %% 900, n %% 90, 0.000001 * (n %% 700),
        now() - interval '29 days' * random() FROM generate_series(1, %s) n"""
_BARE = """
    SELECT model, count(*), sum(input_tokens), sum(output_tokens), sum(cost) FROM turn_usage
    WHERE tenant_id = %s AND at >= now() - interval '30 days' GROUP BY 1"""


def main() -> int:
    """Fill a database, measure and print."""
    options = argparse.ArgumentParser(prog="bench.spend")
    options.add_argument("--rows", type=int, default=10_000_000)
    count = options.parse_args().rows
    with migrated() as (services, _):
        _measure(services.database_owner_url, count)
    return 0


def _measure(owner_url: str, count: int) -> None:
    from gateway.budgets import usage
    from tenants.scope import transactions
    from tests.people import make_tenant

    person = make_tenant().olga
    tenant_id: uuid.UUID = person.scope.tenant_id
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute(_FILL, [tenant_id, person.scope.user_id, count])
        owner.execute("VACUUM ANALYZE turn_usage")
        bare = _median(lambda: owner.execute(_BARE, [tenant_id]).fetchall())

    def page() -> None:
        with transactions.scope(*person.scope):
            usage.by_day_and(person.principal, "model", usage.Asked.read(["model"], "", ""))

    asked = _median(page)
    print(f"{count:,} rows: bare query {bare:.2f} s, the page's statements {asked:.2f} s, {asked / bare:.1f} times")


def _median(work: Callable[[], Any]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


if __name__ == "__main__":
    sys.exit(main())
