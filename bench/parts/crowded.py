"""Calls of one tenant alone and beside 1,000 services of another: `python -m bench.parts.crowded [--seconds S]`.

Calls without a chat, 16 at a time, of a built-in tool and of an MCP service's, in alternating rounds: the services of
the other tenant come before every second round, and go after it.
"""

import argparse
import os
import sys

import orjson

from bench.parts.service_calls import BUILT_IN, OF_SERVICE, plan
from bench.rig.measure import Figures, measure, median
from bench.rig.stack import Stack

ROUNDS, SERVICES, TOOLS = 4, 1000, 2
ALONE, BESIDE = "alone", f"beside {SERVICES:,} services"
# How many times what a call costs alone it may cost beside them: as far as rounds of the same lie apart.
MOST = 1.1


def crowded(stack: Stack, seconds: float) -> dict[str, dict[str, Figures]]:
    """By tool, the medians alone and beside the others."""
    stack.output_of("bench.parts.service_calls", "--add", f"http://127.0.0.1:{stack.ports['provider']}/mcp")
    samples: dict[str, dict[str, list[Figures]]] = {tool: {ALONE: [], BESIDE: []} for tool in (BUILT_IN, OF_SERVICE)}
    for number in range(2 * ROUNDS):
        where = BESIDE if number % 2 else ALONE
        stack.output_of("bench.parts.crowded", "--services", str(SERVICES if where == BESIDE else 0))
        for tool, found in samples.items():
            found[where].append(measure(stack, plan(stack, tool, seconds)))
    return {tool: {where: median(each) for where, each in found.items()} for tool, found in samples.items()}


def lines(measured: dict[str, dict[str, Figures]]) -> list[str]:
    """The figures as text."""
    found = [f"{'Calls, c16':<45}{'/s':>10}{'p50 ms':>10}{'p95 ms':>10}"]
    for tool, by_place in measured.items():
        for where, each in by_place.items():
            cpu = ", ".join(f"{part} {each['cpu_ms'][part]:.2f}" for part in ("web", "worker", "postgres", "redis"))
            figures = f"{each['per_second']:10,.0f}{each['p50']:10.1f}{each['p95']:10.1f}"
            found.append(f"  {f'{tool}, {where}':<43}{figures}  {each['errors']} errors; CPU ms a call: {cpu}")
        ratio = _cpu(by_place[BESIDE]) / _cpu(by_place[ALONE])
        met = "met" if ratio <= MOST else "MISSED"
        found.append(f"    {ratio:.2f} times the CPU of web, worker and PostgreSQL (at most {MOST}: {met})")
    return found


def _cpu(each: Figures) -> float:
    return float(sum(each["cpu_ms"][part] for part in ("web", "worker", "postgres")))


def fill(services: int) -> dict[str, int]:
    """Give the neighbour so many services, and nobody else."""
    import django

    django.setup()
    from django.db import connections, transaction

    from gateway.runs.agents.queries import create_tenant
    from services.models import Service, ServiceTool
    from tenants.models import Tenant
    from tenants.scope.routing import on_login

    definition = {"name": "t", "description": "A tool."}
    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    with on_login("operator"), transaction.atomic(using="operator"):
        tenant = Tenant.objects.filter(slug="neighbour").first() or create_tenant(slug="neighbour")
        ServiceTool.objects.filter(tenant=tenant).delete()
        Service.objects.filter(tenant=tenant).delete()
        made = [
            Service(tenant=tenant, slug=f"s{number}", kind="http", url="https://api.example.com")
            for number in range(services)
        ]
        Service.objects.bulk_create(made)
        ServiceTool.objects.bulk_create(
            ServiceTool(
                tenant=tenant, service=service, name=f"t{number}", tool_name=f"{service.slug}.t{number}",
                alias=f"{service.slug}__t{number}", definition=definition, parameters=parameters, http={},
                accepted_hash="a" * 64, hash="a" * 64, enabled=True,
            )
            for service in made
            for number in range(TOOLS)
        )  # fmt: skip
    with connections["operator"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM service_tools")
        [counted] = cursor.fetchone()
    return {"tools": counted}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench.parts.crowded", description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each sample")
    parser.add_argument("--services", type=int, default=-1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.services >= 0:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
        sys.stdout.buffer.write(orjson.dumps(fill(given.services)))
    else:
        with Stack() as running:
            print("\n".join(lines(crowded(running, given.seconds))))
