"""`python -m bench.records.exports [--calls N]`: what a download of the history costs, and a chat beside it.

An auditor downloads N calls (default 100,000) as CSV and as JSONL from a whole Toolgate. Figures are the CPU time of
the web process, with the process that writes downloads, and of PostgreSQL; beside them is a COPY of the same rows to a
client that drops them. Then chats go on one after another, alone and while two downloads run; both in turn, and medians
of the rounds.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import orjson
import psycopg

from bench.records import generator
from bench.rig import machine
from bench.rig.measure import measure
from bench.rig.stack import Stack
from bench.scenarios import CHAT, TOOL, Scenario

ROUNDS = 5
SECONDS = 3.0
DOWNLOADS = 2
PIECE = 1 << 20
COPY = "COPY (SELECT * FROM tool_calls WHERE tenant_id = '{}') TO STDOUT"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench.records.exports", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--sign-in", metavar="TENANT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sign_in:
        print(orjson.dumps(_signed_in(given.sign_in)).decode())
        return 0
    with Stack() as stack:
        _fill(stack, given.calls)
        session = stack.output_of("bench.records.exports", "--sign-in", stack.tenant)
        for scenario in (CHAT, TOOL):
            measure(stack, scenario.plan(stack, 1, 1.0))
        print(f"{given.calls:,} calls; CPU µs a row{'web':>14}{'PostgreSQL':>12}{'rows/s':>10}{'× COPY':>8}")
        floor = _cost(stack, given.calls, lambda: _copied(stack))
        print(_line("COPY of the rows, by its client", floor, floor))
        for form in ("csv", "jsonl"):
            # The first makes the connections, and starts whatever writes long files.
            _download(stack, session, form, lambda: False)
            print(_line(form, _cost(stack, given.calls, lambda form=form: _download(stack, session, form)), floor))
        for title, scenario in (("chat", CHAT), ("chat with one governed call", TOOL)):
            print("\n".join(_beside(stack, session, title, scenario)), flush=True)
    return 0


def _signed_in(tenant_id: str) -> str:
    """The session of a new auditor of the tenant."""
    import django

    django.setup()
    from bench.records.readers import session_of
    from tenants.models import Membership, User
    from tenants.scope.routing import on_login

    with on_login("operator"):
        user = User.objects.create(username="bench-auditor", password="!")
        Membership.objects.create(tenant_id=tenant_id, user=user, role="auditor")
    return session_of(user)


def _fill(stack: Stack, count: int) -> None:
    url = stack.services.database_owner_url
    with psycopg.connect(url) as owner:
        people = "SELECT user_id FROM memberships WHERE tenant_id = %s"
        users = [row[0] for row in owner.execute(people, [stack.tenant]).fetchall()]
    generator.generate(url, [generator.Crowd(stack.tenant, users)], large=count, total=count)


def _cost(stack: Stack, count: int, work: Callable[[], Any]) -> dict[str, float]:
    """CPU in µs for each of `count` rows, of this process as `here`, of web and PostgreSQL; and rows a second."""
    pids = {name: stack.pids[name] for name in ("web", "postgres")}
    before = {name: machine.cpu_seconds(pid) for name, pid in pids.items()}
    began, own = time.perf_counter(), time.process_time()
    work()
    seconds = time.perf_counter() - began
    spent = {name: 1e6 * (machine.cpu_seconds(pid) - before[name]) / count for name, pid in pids.items()}
    return spent | {"here": 1e6 * (time.process_time() - own) / count, "rate": count / seconds}


def _line(title: str, cost: dict[str, float], floor: dict[str, float]) -> str:
    client = cost["here"] if cost is floor else cost["web"]
    ratio = (client + cost["postgres"]) / (floor["here"] + floor["postgres"])
    return f"  {title:<32}{client:>10.1f}{cost['postgres']:>12.1f}{cost['rate']:>10,.0f}{ratio:>8.1f}"


def _copied(stack: Stack) -> None:
    with (
        psycopg.connect(stack.services.database_owner_url) as owner,
        owner.cursor() as cursor,
        cursor.copy(COPY.format(stack.tenant).encode()) as copy,
    ):
        for _ in copy:
            pass


def _download(stack: Stack, session: str, form: str, proceed: Callable[[], bool] = lambda: True) -> int:
    """Read a whole download, or until `proceed` says no; how many bytes it had."""
    connection = HTTPConnection("127.0.0.1", stack.ports["web"], timeout=60)
    connection.request("GET", f"/history/export.{form}", headers={"Cookie": f"sessionid={session}"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"the download was answered with {answer.status}: {stack.log('web')}")
    size = 0
    while piece := answer.read(PIECE):
        size += len(piece)
        if not proceed():
            break
    connection.close()
    return size


def _beside(stack: Stack, session: str, title: str, scenario: Scenario) -> list[str]:
    """Latencies of chats one after another, alone and beside DOWNLOADS downloads, in turn."""
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(measure(stack, scenario.plan(stack, 1, SECONDS, 0.3)))
        over = threading.Event()
        threads = [threading.Thread(target=_downloads, args=(stack, session, over)) for _ in range(DOWNLOADS)]
        for thread in threads:
            thread.start()
        beside.append(measure(stack, scenario.plan(stack, 1, SECONDS, 0.3)))
        over.set()
        for thread in threads:
            thread.join()
    lines = [f"{title}, c1, ms{'alone':>14}{'beside':>10}{'ratio':>8}"]
    for figure in ("p50", "p95"):
        before, after = (statistics.median(each[figure] for each in samples) for samples in (alone, beside))
        lines.append(f"  {figure:<20}{before:>12.1f}{after:>10.1f}{after / before:>8.2f}")
    errors = sum(each["errors"] for each in (*alone, *beside))
    return [*lines, *([f"  errors: {errors}"] if errors else [])]


def _downloads(stack: Stack, session: str, over: threading.Event) -> None:
    while not over.is_set():
        _download(stack, session, "csv", lambda: not over.is_set())


if __name__ == "__main__":
    sys.exit(main())
