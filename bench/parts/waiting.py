"""`python -m bench.parts.waiting [COUNT]`: what COUNT runs that wait for a human (default 100,000) cost everybody else.

The same load is measured without them and beside them; then some of them are approved, to see them go on.
"""

import os
import statistics
import subprocess
import sys
import time
import urllib.request
from typing import Any

import orjson
import psycopg

from bench.rig import machine
from bench.rig.measure import Figures, measure, median
from bench.rig.stack import ROOT, Stack
from bench.scenarios import CHAT, LOCAL

CONCURRENCY = 16
ROUNDS = 3
SECONDS = 4.0
APPROVED = 20
INPUT = {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}
PROFILE = {
    "slug": "default", "instructions": "", "tools": "all", "max_tier": "", "on_refused_approval": "tell",
    "max_turns": 8, "max_seconds": 120, "tool_seconds": 30, "max_result_bytes": 16384,
}  # fmt: skip
# Complete runs, as the loop leaves them; ids of calls and requests are UUIDv7 of this moment.
FILL = """
    CREATE TEMPORARY TABLE waiting AS
    SELECT gen_random_uuid() AS run, gen_random_uuid() AS conversation, gen_random_uuid() AS message,
        overlay(gen_random_uuid()::text placing left(uuid_v7_floor(now())::text, 15) from 1 for 15)::uuid AS call,
        overlay(gen_random_uuid()::text placing left(uuid_v7_floor(now())::text, 15) from 1 for 15)::uuid AS request,
        %(tenant)s::uuid AS tenant, (%(users)s::uuid[])[1 + i %% cardinality(%(users)s::uuid[])] AS owner
    FROM generate_series(1, %(count)s) i;
    INSERT INTO conversations (id, tenant_id, user_id, title) SELECT conversation, tenant, owner, 'waits' FROM waiting;
    INSERT INTO runs (id, tenant_id, user_id, conversation_id, message_id, profile, model, status, turns)
        SELECT run, tenant, owner, conversation, message, %(profile)s, 'openai/chat', 'requires_action', 1 FROM waiting;
    INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)
        SELECT gen_random_uuid(), tenant, owner, conversation, run, 'user', 'Write to Bob.' FROM waiting;
    INSERT INTO turns (id, tenant_id, user_id, run_id, number, attempt, text, calls, finish_reason, suspensions)
        SELECT gen_random_uuid(), tenant, owner, run, 1, 100, 'I will write.', 1, 'tool_calls', 1 FROM waiting;
    INSERT INTO tool_calls (id, tenant_id, user_id, conversation_id, message_id, run_id, turn, position, tool_name,
            tier, input, status, params_hash, row_key, approval_id)
        SELECT call, tenant, owner, conversation, message, run, 1, 0, 'send_email', 'elevated', %(input)s,
            'awaiting_approval', %(params_hash)s, sha256(call::text::bytea), request FROM waiting;
    INSERT INTO approval_requests (id, tenant_id, user_id, call_id, run_id, conversation_id, agent, tool_name, tier,
            why, schema_hash, params_hash, approvals_needed, status, expires_at)
        SELECT request, tenant, owner, call, run, conversation, 'default', 'send_email', 'elevated', 'elevated',
            %(schema_hash)s, %(params_hash)s, 1, 'pending', now() + interval '24 hours' FROM waiting"""
SWEEPS = {
    "decisions not noted": "SELECT DISTINCT tenant_id, user_id, run_id FROM approval_requests WHERE status <> 'pending'"
    " AND used_at IS NULL AND decided_at < now() - interval '2 seconds' LIMIT 500",
    "overdue": "SELECT id FROM approval_requests WHERE status = 'pending' AND expires_at < now()"
    " ORDER BY expires_at LIMIT 500",
    "runs without a driver": "SELECT id FROM runs WHERE status = 'in_progress'"
    " AND coalesce(lease_until, '-infinity') < now() LIMIT 500",
    "calls without a worker": "SELECT id FROM tool_calls WHERE status IN ('claimed', 'running')"
    " AND lease_until < now() LIMIT 500",
}


def main() -> int:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with Stack() as stack:
        approver = _approver(stack)
        for scenario in (CHAT, LOCAL):
            measure(stack, scenario.plan(stack, CONCURRENCY, 1.0))
        before, memory = _load(stack), _memory(stack)
        began = time.perf_counter()
        _fill(stack, count)
        filled = time.perf_counter() - began
        beside, memory_beside = _load(stack), _memory(stack)
        print(
            f"{count:,} runs that wait for a human, written in {filled:.0f} s; c{CONCURRENCY}, {ROUNDS} × {SECONDS:g} s"
        )
        print(f"  {'':<36}{'without':>12}{'beside':>12}{'ratio':>8}")
        for name in before:
            for figure, unit in (("per_second", "/s"), ("p50", "ms"), ("p95", "ms"), ("errors", "")):
                _line(f"{name}, {figure} {unit}", before[name][figure], beside[name][figure])
        _line("memory of web, worker, beat, MiB PSS", memory, memory_beside)
        print("  sweeper's queries, ms: " + ", ".join(f"{name} {ms:.2f}" for name, ms in _sweeps(stack).items()))
        first, request_ids = _queue(stack, approver)
        print(f"  first page of the queue over REST: {first:.1f} ms")
        went_on = sorted(_approve(stack, approver, request_id) for request_id in request_ids)
        print(
            f"  {APPROVED} approved, from POST to the run's end: p50 {1000 * statistics.median(went_on):.0f} ms, "
            f"max {1000 * went_on[-1]:.0f} ms"
        )
    return 0


def _line(title: str, before: float, beside: float) -> None:
    ratio = f"{beside / before:.2f}" if before else ""
    print(f"  {title:<36}{before:>12,.1f}{beside:>12,.1f}{ratio:>8}")


def _load(stack: Stack) -> dict[str, Figures]:
    samples: dict[str, list[Figures]] = {"chat": [], "chat with list_tasks": []}
    for _ in range(ROUNDS):
        for name, scenario in zip(samples, (CHAT, LOCAL), strict=True):
            samples[name].append(measure(stack, scenario.plan(stack, CONCURRENCY, SECONDS, 0.5)))
    return {name: median(each) for name, each in samples.items()}


def _memory(stack: Stack) -> float:
    return sum(machine.memory(stack.pids[name])["pss_mib"] for name in ("web", "worker", "beat"))


def _approver(stack: Stack) -> str:
    def manage(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=stack.environment(),
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip().splitlines()[-1]

    of_tenant = ("--tenant", "bench", "--username", "approver")
    manage("create_member", *of_tenant, "--role", "approver", "--password", os.urandom(12).hex())
    return manage("create_api_key", *(word if word != "--username" else "--user" for word in of_tenant))


def _fill(stack: Stack, count: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
    from audit.canonical import sha256_hex
    from tools.registry import registry

    tool = registry().get("send_email")
    assert tool is not None
    with psycopg.connect(stack.services.database_owner_url, autocommit=True) as owner:
        people = "SELECT user_id FROM memberships WHERE tenant_id = %s AND role = 'member'"
        values: dict[str, Any] = {
            "tenant": stack.tenant,
            "users": [row[0] for row in owner.execute(people, [stack.tenant]).fetchall()],
            "count": count,
            "profile": orjson.dumps(PROFILE).decode(),
            "input": orjson.dumps(INPUT).decode(),
            "params_hash": sha256_hex(INPUT),
            "schema_hash": sha256_hex(tool.parameters),
        }
        for statement in FILL.split(";"):
            owner.execute(
                statement.encode(), {name: value for name, value in values.items() if f"%({name})s" in statement}
            )
        owner.execute("ANALYZE")


def _sweeps(stack: Stack) -> dict[str, float]:
    """Each query's time in milliseconds, the best of five, round trip included."""
    with psycopg.connect(stack.services.database_owner_url, autocommit=True) as owner:
        times: dict[str, float] = {}
        for name, query in SWEEPS.items():
            best = float("inf")
            for _ in range(5):
                began = time.perf_counter()
                owner.execute(query.encode()).fetchall()
                best = min(best, time.perf_counter() - began)
            times[name] = best * 1000
        return times


def _asked(stack: Stack, key: str, path: str, body: bytes | None = None) -> Any:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{stack.ports['web']}{path}", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return orjson.loads(answer.read())


def _queue(stack: Stack, key: str) -> tuple[float, list[str]]:
    """The best of ten first pages, in milliseconds, and the ids of some of its requests."""
    best = float("inf")
    for _ in range(10):
        began = time.perf_counter()
        page = _asked(stack, key, "/api/v1/approvals/?status=pending")
        best = min(best, time.perf_counter() - began)
    return best * 1000, [each["id"] for each in page["results"][:APPROVED]]


def _approve(stack: Stack, key: str, request_id: str) -> float:
    began = time.perf_counter()
    _asked(stack, key, f"/api/v1/approvals/{request_id}/approve/", b"{}")
    ended = (
        "SELECT 1 FROM runs r JOIN approval_requests a ON a.run_id = r.id WHERE a.id = %s AND r.status = 'completed'"
    )
    with psycopg.connect(stack.services.database_owner_url, autocommit=True) as owner:
        while owner.execute(ended.encode(), [request_id]).fetchone() is None:
            if time.perf_counter() - began > 30:
                raise TimeoutError(f"the run of {request_id} did not go on")
            time.sleep(0.005)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
