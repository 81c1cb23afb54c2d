"""How many statements services cost: a number that grows with services or tools costs every page and every turn."""

import re
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.requests import callers_rights
from gateway.runs.agents import members
from services import changes, shown
from services.changes import NewService, Source
from services.models import Service, ServiceTool
from tenants.scope.transactions import scope, transaction
from tests.people import Cast
from tools.offering import offer

# Without BEGIN, the scope's settings and COMMIT.
PINS = {"list": 1, "detail": 3}


def descriptor(tools: int) -> dict[str, Any]:
    """One of so many tools."""
    http = {"method": "GET", "path": "/a"}
    return {"version": 2, "tools": [{"name": f"t{n}", "description": "A tool.", "http": http} for n in range(tools)]}


def add(tenant: Cast, slug: str, tools: int) -> None:
    """Add a service of so many tools, all of them enabled."""
    wanted = NewService.read({"slug": slug, "kind": "http", "url": "https://api.example.com"})
    changes.add(tenant.id, wanted, Source("http", changes.text_of(descriptor(tools), "descriptor")))
    Service.objects.get(slug=slug).tools.update(enabled=True)


@pytest.mark.parametrize("tools", [1, 40])
def test_a_service_costs_as_many_statements_however_many_tools_it_has(tenant: Cast, tools: int) -> None:
    with scope(*tenant.olga.scope):
        add(tenant, "desk", tools)
        with CaptureQueriesContext(connection) as detail:
            assert len(shown.details(changes.found("desk"))["tools"]) == tools
        with CaptureQueriesContext(connection) as listed:
            assert [shown.summary(each)["slug"] for each in Service.objects.all()] == ["desk"]
    assert (len(detail), len(listed)) == (PINS["detail"], PINS["list"])


async def test_rights_are_one_statement_with_every_tool_of_the_tenant_and_none_of_another(
    tenant: Cast, other_tenant: Cast
) -> None:
    from asgiref.sync import sync_to_async

    def fill() -> None:
        for cast in (tenant, other_tenant):
            with scope(*cast.olga.scope):
                for number in range(3):
                    add(cast, f"s{number}", 20)

    await sync_to_async(fill)()
    async with transaction(tenant.alice.scope) as opened:
        found = await callers_rights.load(opened, tenant.alice.scope.user_id, {"tools": "all"})
        again = await callers_rights.load(opened, tenant.alice.scope.user_id, {"tools": "all"})
    assert len(found.policy.service_tools) == 60
    assert found == again


def _crowd(tenant: Cast, services: int, tools: int) -> None:
    """So many services with so many tools each, as rows."""
    made = [
        Service(tenant_id=tenant.id, slug=f"s{number}", kind="http", url="https://api.example.com")
        for number in range(services)
    ]
    definition = {"name": "t", "description": "A tool."}
    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    with scope(*tenant.olga.scope):
        Service.objects.bulk_create(made)
        ServiceTool.objects.bulk_create(
            ServiceTool(
                tenant_id=tenant.id, service=service, name=f"t{number}", tool_name=f"{service.slug}.t{number}",
                alias=f"{service.slug}__t{number}", definition=definition, parameters=parameters, http={},
                accepted_hash="a" * 64, hash="a" * 64, enabled=True,
            )
            for service in made
            for number in range(tools)
        )  # fmt: skip


async def test_a_thousand_services_of_one_tenant_are_none_of_another_and_few_in_a_prompt_of_its_own(
    tenant: Cast, other_tenant: Cast
) -> None:
    from asgiref.sync import sync_to_async

    await sync_to_async(_crowd)(tenant, 1000, 2)
    own, other = [await members.under(cast.alice.scope, None) for cast in (tenant, other_tenant)]
    assert len(own.rights.policy.service_tools) == 2000
    assert (other.rights.policy.service_tools, other.rights.policy.closed_tools) == ({}, {})
    assert [tool.name for tool in offer.of_agent(own.rights.policy, own.profile).tools] == [
        "tools_call",
        "tools_search",
    ]
    assert not offer.of_agent(other.rights.policy, other.profile).searches
    # What a process remembers of the one does not push out what it remembers of the other.
    assert (await members.under(other_tenant.alice.scope, None)).remembered
    # And what is loaded anew does not look at all the rows, although the plan is made for no tenant in particular.
    async with await psycopg.AsyncConnection.connect(settings.DATABASE_URLS["owner"], autocommit=True) as owner:
        await owner.execute("ANALYZE services, service_tools")
    plan = await _plan(other_tenant)
    assert "service_tools_name" in plan or "service_tools_service" in plan
    assert not re.findall(r"Seq Scan on service\w*", plan)


async def _plan(cast: Cast) -> str:
    """How PostgreSQL loads the rights of a member, whose tenant it does not know when it plans."""
    statement = f"PREPARE loading (uuid) AS {callers_rights.LOAD.replace('%s', '$1')}"
    async with transaction(cast.alice.scope) as opened:
        await opened.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await opened.execute(statement.encode())
        asked = f"EXPLAIN (COSTS OFF) EXECUTE loading ('{cast.alice.scope.user_id}')"
        found = await (await opened.execute(asked.encode())).fetchall()
        await opened.execute("DEALLOCATE loading")
    return "\n".join(str(row["QUERY PLAN"]) for row in found)


async def test_a_remembered_row_of_rights_is_read_once(tenant: Cast) -> None:
    from asgiref.sync import sync_to_async

    await sync_to_async(_crowd)(tenant, 5, 10)
    first, second = [await members.under(tenant.alice.scope, None) for _ in range(2)]
    assert second.remembered and len(second.rights.policy.service_tools) == 50
    assert first.rights.policy.service_tools is second.rights.policy.service_tools
