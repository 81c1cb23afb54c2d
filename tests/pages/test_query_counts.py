"""How many statements each page under /settings/ costs: a number that grows with the rows of a tenant costs the most
where there is most to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db.backends.utils import CursorWrapper

from gateway.runs.agents import changes as agents
from services.models import Service
from tenants.members import invitations
from tenants.models import Membership, Role
from tenants.people import keys
from tenants.scope import transactions
from tenants.switches import changes as switches
from tenants.switches.changes import NewSwitch
from tests.budgets.rows import make_budget
from tests.budgets.test_rest import use
from tests.pages.browsing import InProcess, signed_in
from tests.people import Cast
from tests.rights.action import areas
from tools.settings import grants

# Of an owner, with what every page has: the session, the membership, the navigation with the inbox's number, and the
# transaction's settings.
PINS = {
    "/settings/": 10,
    "/settings/agents/": 12,
    "/settings/agents/-/new/": 13,
    "/settings/agents/<slug>/": 14,
    "/settings/agents/<slug>/versions/": 14,
    "/settings/applications/": 11,
    "/settings/changes/": 14,
    "/settings/connections/": 14,
    "/settings/destinations/": 11,
    "/settings/keys/": 12,
    "/settings/models/": 13,
    "/settings/models/-/new/": 11,
    "/settings/notifications/": 12,
    "/settings/passkeys/": 11,
    "/settings/password/": 12,
    "/settings/people/": 14,
    "/settings/profile/": 11,
    "/settings/retention/": 11,
    "/settings/safety/": 13,
    "/settings/schedules/": 14,
    "/settings/schedules/export.jsonl": 5,
    "/settings/second-factor/": 13,
    "/settings/services/": 14,
    "/settings/services/-/new/": 10,
    "/settings/services/<slug>/": 14,
    "/settings/sessions/": 12,
    "/settings/sign-on/": 13,
    "/settings/spend/": 16,
    "/settings/tools/": 14,
    "/settings/tools/-/": 11,
    "/settings/tools/-/<slug>/": 13,
    "/settings/tools/<name>/": 21,
}
# Parameters that name something here; pages of what needs a network to be there are left out.
NAMES = {
    "/settings/agents/<slug>/": "a0",
    "/settings/agents/<slug>/versions/": "a0",
    "/settings/services/<slug>/": "s0",
    "/settings/tools/-/<slug>/": "s0",
    "/settings/tools/<name>/": "save_note",
}
# Sent every so often, or once a connection, whatever is asked for.
BESIDE = ("record_session_use", "record_visit", "SET plan_cache_mode")
LEFT_OUT = {
    "/settings/models/<slug>/",
    "/settings/models/<slug>/remove/",
    "/settings/destinations/verify/<token>/",
    "/settings/schedules/<id>/",
    "/settings/services/-/catalogue/<name>/",
    "/settings/services/<slug>/feeds/",
    "/settings/services/<slug>/tools/<name>/",
    "/settings/sign-on/<id>/",
    "/settings/sign-on/<id>/remove/",
}


def pages() -> list[str]:
    """Every page of the settings that the table of rights has."""
    listed = (request.split(" ") for actions in areas().values() for action in actions for request in action.page)
    return sorted({path for method, path in listed if method == "GET" and path.startswith("/settings/")} - LEFT_OUT)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that are sent inside, over Django's connections and the asynchronous ones."""
    sent: list[str] = []
    by_django, by_pool = CursorWrapper.execute, psycopg.AsyncConnection.execute

    def note(statement: Any) -> None:
        if not any(each in str(statement) for each in BESIDE):
            sent.append(str(statement))

    def execute(self: Any, statement: Any, params: Any = None) -> Any:
        note(statement)
        return by_django(self, statement, params)

    async def awaited(self: Any, query: Any, *args: Any, **more: Any) -> Any:
        note(query)
        return await by_pool(self, query, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(CursorWrapper, "execute", execute)
        patched.setattr(psycopg.AsyncConnection, "execute", awaited)
        yield sent


def fill(tenant: Cast, numbers: range) -> None:
    """More of what the pages list."""
    made = []
    with transactions.scope(*tenant.olga.scope):
        member = Membership.objects.get(user_id=tenant.olga.scope.user_id)
        for number in numbers:
            made.append(agents.add(tenant.id, {"slug": f"a{number}", "tools": ["save_note"]}).pk)
            agents.change(tenant.id, f"a{number}", {"max_turns": 5}, None)
            keys.create(membership=member, name=f"k{number}")
            invitations.make(tenant.id, tenant.olga.scope.user_id, role="member")
            switches.put_on(tenant.id, NewSwitch("agent", f"a{number}", "Why"))
            grant = {"tool": "save_note", "effect": "allow", "role": Role.values[number]}
            grants.add(grants.read(tenant.id, grant, lambda name: True))
            Service.objects.create(tenant_id=tenant.id, slug=f"s{number}", kind="http", url="https://api.example.com")
    for number, agent in zip(numbers, made, strict=True):
        make_budget(tenant, 10 + number, agent_id=agent)
        use(tenant, tenant.olga, model=f"openai/m{number}", agent_id=agent)


def costs(client: InProcess, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The statements of each page."""
    found = {}
    for path in pages():
        name = NAMES.get(path, "")
        address = path.replace("<slug>", name).replace("<name>", name)
        with counted(monkeypatch) as sent:
            answer = client.get(address)
        assert answer.status_code == 200, (address, answer.status_code)
        found[path] = len(sent)
    return found


def test_each_page_costs_as_many_statements_as_the_table_says_however_much_it_lists(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(tenant.olga)
    fill(tenant, range(1))
    client.get("/settings/")
    first = costs(client, monkeypatch)
    fill(tenant, range(1, 4))
    second = costs(client, monkeypatch)
    assert (first, second) == (PINS, PINS)
