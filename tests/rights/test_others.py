"""Nobody reaches what is another's by its id: each request of the API with ids of a thing of the right kind."""

import os
import re
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from tests.people import Cast, Person, make_tenant
from tests.rights import things
from tests.rights.action import areas
from tests.stack import Stack

_PARAMETER = re.compile(r"<(\w+)>")
_REQUESTS = [(request, action) for of_area in areas().values() for action in of_area for request in action.api]
# Their parameter is a tool's name, which is no secret.
_OF_EVERYBODY = {"tools", "tool-settings"}
# They need a server, a browser or a tool of the test's own; their tests try ids of others themselves.
_ELSEWHERE = {"connections", "messages", "providers", "questions", "sessions", "sign-on"}
# What a request changes beside what it asks for: when somebody was last here, sealing, sending, counting.
_MOVING = {"ledger_entries", "memberships", "users", "notifications", "api_keys"}

# Where what makes no sense is refused before anything is looked up.
_QUERIES = {"GET /api/v1/agents/<slug>/native": "?client=openai"}
_BODIES = {"POST /api/v1/services/<slug>/tools/<tool>/accept/": {"hash": "0" * 64}}


def _kind(request: str) -> str:
    return request.split("/")[3]


def _asking(stack: Stack, person: Person) -> things.Ask:
    def ask(method: str, path: str, **more: object) -> httpx.Response:
        return httpx.request(method, f"{stack.url}{path}", headers=person.headers, **more)  # type: ignore[arg-type]

    return ask


@pytest.fixture(scope="module")
def of_others(stack: Stack) -> tuple[Cast, dict[str, things.Ids]]:
    """A tenant, and ids of one thing of each kind in it: alice's own, and those that its owner has made."""
    cast = make_tenant(unhurried=True)
    found: dict[str, things.Ids] = {}
    for person, makers in ((cast.alice, things.PERSONAL), (cast.olga, things.OF_TENANT)):
        ask = _asking(stack, person)
        found |= {kind: make(ask) for kind, make in makers.items()}
    return cast, found


def test_there_is_a_thing_of_every_kind() -> None:
    kinds = {_kind(request) for request, _ in _REQUESTS if _PARAMETER.search(request)}
    assert kinds == things.PERSONAL.keys() | things.OF_TENANT.keys() | _OF_EVERYBODY | _ELSEWHERE


def _answers(
    stack: Stack, person: Person, ids: dict[str, things.Ids], kinds: set[str]
) -> Iterator[tuple[str, httpx.Response]]:
    """What the person is answered to each request with an id."""
    ask = _asking(stack, person)
    for request, action in _REQUESTS:
        if _PARAMETER.search(request) and _kind(request) in kinds:
            method, _, path = request.partition(" ")
            of = ids[_kind(request)]
            address = _PARAMETER.sub(lambda found, of=of: of[found[1]], path)  # type: ignore[misc]
            address += _QUERIES.get(request, "")
            body = {} if method in ("GET", "DELETE") else {"json": _BODIES.get(request, dict(action.body))}
            yield f"{person.username}: {request}", ask(method, address, **body)


def _rows(cast: Cast) -> dict[str, str]:
    """What is in the tenant's tables, as a hash of each."""
    tables = (
        "SELECT table_name FROM information_schema.columns JOIN information_schema.tables USING (table_name)"
        " WHERE column_name = 'tenant_id' AND table_type = 'BASE TABLE' AND tables.table_schema = 'public'"
    )
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        names = {name for [name] in owner.execute(tables).fetchall()} - _MOVING
        return {
            name: owner.execute(
                f"SELECT md5(string_agg(x::text, '|' ORDER BY x::text)) FROM {name} x WHERE tenant_id = %s".encode(),
                [cast.id],
            ).fetchall()[0][0]
            for name in names
        }


def test_an_owner_of_another_tenant_knows_nothing_of_it(
    stack: Stack, of_others: tuple[Cast, dict[str, things.Ids]]
) -> None:
    cast, ids = of_others
    before = _rows(cast)
    stranger = make_tenant(unhurried=True).olga
    wrong = [
        f"{what}: {answer.status_code} {answer.text[:200]}"
        for what, answer in _answers(stack, stranger, ids, set(ids))
        if answer.status_code != 404
    ]
    assert wrong == []
    assert _rows(cast) == before


@pytest.mark.parametrize("name", ["bob", "carol", "dana", "olga"])
def test_what_is_personal_is_nobody_elses(
    stack: Stack, of_others: tuple[Cast, dict[str, things.Ids]], name: str
) -> None:
    cast, ids = of_others
    before = _rows(cast)
    wrong = [
        f"{what}: {answer.status_code} {answer.text[:200]}"
        for what, answer in _answers(stack, getattr(cast, name), ids, set(things.PERSONAL))
        if answer.status_code != 404
    ]
    assert wrong == []
    assert _rows(cast) == before
