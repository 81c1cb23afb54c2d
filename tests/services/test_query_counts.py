"""How many statements services cost: a number that grows with services or tools costs every page and every turn."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.requests import rights
from services import changes, shown
from services.changes import NewService, Source
from services.models import Service
from tenants.scope.transactions import scope, transaction
from tests.people import Cast

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
            assert len(shown.whole(changes.found("desk"))["tools"]) == tools
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
        found = await rights.load(opened, tenant.alice.scope.user_id, {"tools": "all"})
        again = await rights.load(opened, tenant.alice.scope.user_id, {"tools": "all"})
    assert len(found.policy.service_tools) == 60
    assert found == again
