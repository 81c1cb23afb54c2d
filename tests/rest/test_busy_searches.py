"""Searches of conversations leave connections for what everybody else does, whoever begins how many."""

from contextlib import ExitStack

import pytest

from gateway.runs.conversations import searching as places
from gateway.runs.conversations.searching import searching
from gateway.runs.errors import TooManySearches
from tests.fuzz import caller
from tests.pages.call_rows import signed_in
from tests.people import Cast, Person

PATH = "/api/v1/conversations/"


async def _listed(person: Person, query: str) -> caller.Answer:
    return await caller.ask("GET", f"{PATH}{query}", {"authorization": f"Bearer {person.key}".encode()})


async def test_a_persons_third_search_at_a_time_is_429_and_keeps_nobody_else_from_theirs(
    tenant: Cast, other_tenant: Cast
) -> None:
    with ExitStack() as running:
        for words in ("slow", "slower"):
            running.enter_context(searching(tenant.alice.principal, words))
        answer = await _listed(tenant.alice, "?q=tea")
        assert (answer.status, answer.json()["code"]) == (429, "rate_limited")
        assert answer.headers["retry-after"] == "2"
        assert answer.headers["ratelimit-policy"] == '"searches";q=2;qu="concurrent-requests"'
        assert answer.headers["ratelimit"] == '"searches";r=0;t=2'
        # A list is no search.
        for query in ("", "?q=", "?q=%20"):
            assert (await _listed(tenant.alice, query)).status == 200
        for person in (tenant.bob, other_tenant.alice):
            assert (await _listed(person, "?q=tea")).status == 200
    assert (await _listed(tenant.alice, "?q=tea")).status == 200


def test_the_chat_pages_search_says_so_too(tenant: Cast) -> None:
    with searching(tenant.alice.principal, "slow"), searching(tenant.alice.principal, "slower"):
        page = signed_in(tenant.alice).get("/", {"q": "tea"})
        assert (page.status_code, page.headers["Retry-After"]) == (429, "2")
        assert "Too many searches at once" in page.content.decode()
        assert signed_in(tenant.alice).get("/").status_code == 200
    assert signed_in(tenant.alice).get("/", {"q": "tea"}).status_code == 200


def test_a_tenant_and_all_of_them_together_leave_places(tenant: Cast, other_tenant: Cast) -> None:
    with ExitStack() as running:
        for person in (tenant.alice, tenant.bob, tenant.carol):
            running.enter_context(searching(person.principal, "slow"))
        with pytest.raises(TooManySearches), searching(tenant.dana.principal, "tea"):
            pass
        running.enter_context(searching(other_tenant.alice.principal, "slow"))
        with pytest.raises(TooManySearches), searching(other_tenant.bob.principal, "tea"):
            pass


def test_a_search_that_fails_gives_its_place_back(tenant: Cast) -> None:
    for _ in range(places.PER_PROCESS + 1):
        with pytest.raises(ZeroDivisionError), searching(tenant.alice.principal, "tea"):
            raise ZeroDivisionError
    assert places._people == places._tenants == {}
