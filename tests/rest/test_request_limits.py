"""Requests per minute of a tenant, a person and a key: over every API, whatever the process."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from redis import Redis

from tenants.limits import changes as limits
from tenants.models import Membership
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

SAID = {"model": "offline/demo", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 100}


def patch(stack: Stack, person: Person, body: Any) -> httpx.Response:
    """Set limits as a person."""
    return httpx.patch(f"{stack.url}/api/v1/limits/", json=body, headers=person.headers)


def chat(url: str, key: str) -> httpx.Response:
    """A chat with a key."""
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/api/v1/chat", json={"content": "hello"}, headers=headers)


def another_key(tenant: Cast, person: Person) -> str:
    """One more of the person's."""
    with on_login("operator"):
        member = Membership.objects.get(tenant_id=tenant.id, user_id=person.scope.user_id)
        return keys.create(membership=member)[1]


def test_a_key_a_person_and_a_tenant_have_a_limit_each(stack: Stack, tenant: Cast) -> None:
    assert patch(stack, tenant.olga, {"per_key": 2, "per_person": 3, "per_tenant": 100}).status_code == 200
    second = another_key(tenant, tenant.alice)
    assert [chat(stack.url, tenant.alice.key).status_code for _ in range(3)] == [200, 200, 429]
    assert [chat(stack.url, second).status_code for _ in range(2)] == [200, 429]
    of_key = chat(stack.url, tenant.alice.key)
    assert of_key.json()["code"] == "rate_limited"
    assert "An owner of the tenant can change the limit" in of_key.json()["detail"]
    assert of_key.json()["detail"].endswith(f" The owner of your tenant is {tenant.olga.username}.")
    assert of_key.headers["RateLimit-Policy"] == '"tenant";q=100;w=60, "person";q=3;w=60, "key";q=2;w=60'
    state = dict(each.split(";", 1) for each in of_key.headers["RateLimit"].split(", "))
    # Four were let through: three of alice's, and olga's own.
    assert state['"tenant"'].startswith("r=96;") or state['"tenant"'].startswith("r=97;")
    assert state['"person"'].startswith("r=0;")
    assert state['"key"'].startswith("r=0;")
    assert 0 < int(of_key.headers["Retry-After"]) <= 60
    assert len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)) == 3
    assert chat(stack.url, tenant.bob.key).status_code == 200


def test_every_api_counts_in_the_same_window_and_refuses_in_its_own_shape(stack: Stack, tenant: Cast) -> None:
    assert patch(stack, tenant.olga, {"per_person": 4}).status_code == 200
    headers = tenant.alice.headers
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    def each() -> list[httpx.Response]:
        return [
            httpx.get(f"{stack.url}/api/v1/tools/", headers=headers),
            httpx.get(f"{stack.url}/v1/models", headers=headers),
            httpx.post(f"{stack.url}/v1/chat/completions", json=SAID, headers=headers),
            httpx.post(f"{stack.url}/v1/messages", json=SAID, headers=headers),
            httpx.post(f"{stack.url}/mcp", json=initialize, headers=headers | {"Accept": "application/json"}),
        ]

    assert [answer.status_code for answer in each()][:4] == [200] * 4
    ours, models, openai, anthropic, mcp = each()
    assert {answer.status_code for answer in (ours, models, openai, anthropic, mcp)} == {429}
    assert ours.json()["code"] == "rate_limited"
    assert openai.json()["error"]["code"] == "rate_limit_exceeded"
    assert anthropic.json()["error"]["type"] == "rate_limit_error"
    assert mcp.json()["error"]["data"] == {"code": "rate_limited"}
    words = [each.json()["detail" if each is ours else "error"] for each in (ours, openai, anthropic, mcp)]
    ends = f" The owner of your tenant is {tenant.olga.username}."
    assert all((said if said is words[0] else said["message"]).endswith(ends) for said in words)
    assert all(answer.headers["RateLimit-Policy"] == '"person";q=4;w=60' for answer in (ours, models, openai, mcp))


def test_without_limits_redis_is_not_asked(stack: Stack, tenant: Cast) -> None:
    assert chat(stack.url, tenant.alice.key).status_code == 200
    from django.conf import settings

    with Redis.from_url(settings.REDIS_URL) as redis:
        assert redis.keys(f"toolgate:requests:{tenant.id}*") == []


def test_only_owners_set_limits_and_everybody_reads_them(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    for person in (tenant.alice, tenant.carol, tenant.dana):
        assert patch(stack, person, {"per_key": 5}).status_code == 403
    assert rows("SELECT * FROM request_limits WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert patch(stack, tenant.olga, {"per_key": 5}).json() == {
        "per_tenant": None, "per_person": None, "per_key": 5, "ceiling": None
    }  # fmt: skip
    assert patch(stack, tenant.olga, {"per_person": 7}).json()["per_key"] == 5
    assert stack.get(tenant.alice, "/api/v1/limits/").json()["per_person"] == 7
    assert stack.get(other_tenant.olga, "/api/v1/limits/").json()["per_key"] is None
    changed = rows("SELECT target, changes FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [each["target"] for each in changed] == ["request_limits"] * 2
    assert changed[1]["changes"] == {"per_person": [None, 7]}


@pytest.mark.parametrize(
    "body",
    [{"per_key": 0}, {"per_key": -1}, {"per_key": 2**40}, {"per_key": 1.5}, {"per_key": True}, {"per_key": "5"},
     {"ceiling": 5}, {"per_planet": 5}],
    ids=str,
)  # fmt: skip
def test_what_is_no_limit_is_refused(stack: Stack, tenant: Cast, body: dict[str, Any]) -> None:
    answer = patch(stack, tenant.olga, body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_request", *body)
    assert rows("SELECT * FROM request_limits WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_a_number_that_no_json_reader_carries_is_refused(stack: Stack, tenant: Cast) -> None:
    assert patch(stack, tenant.olga, {"per_key": 10**30}).status_code == 400
    assert rows("SELECT * FROM request_limits WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_no_limit_is_above_the_operators_ceiling(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        limits.set_ceiling(tenant.id, 3)
    refused = patch(stack, tenant.olga, {"per_tenant": 4})
    assert (refused.status_code, refused.json()["detail"]) == (400, "The operator allows your tenant 3 at most.")
    # Set by nobody, it is the limit of the tenant; the refused request counted, too.
    codes = [chat(stack.url, tenant.alice.key).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


class TestOverThreeProcesses:
    """One window for all of them."""

    @pytest.fixture(scope="class")
    def three(self) -> Iterator[tuple[Stack, list[str]]]:
        """The addresses of three web processes."""
        with Stack(TOOLGATE_TEST="limits") as stack:
            yield stack, [stack.url, stack.start_web("second web"), stack.start_web("third web")]

    def test_many_at_once_are_let_through_up_to_the_limit(self, three: tuple[Stack, list[str]], tenant: Cast) -> None:
        stack, addresses = three
        assert patch(stack, tenant.olga, {"per_person": 20}).status_code == 200
        together = threading.Barrier(9)

        def ask(number: int) -> Counter[int]:
            together.wait()
            return Counter(chat(addresses[number % 3], tenant.alice.key).status_code for _ in range(5))

        with ThreadPoolExecutor(9) as pool:
            codes = sum(pool.map(ask, range(9)), Counter[int]())
        assert codes == {200: 20, 429: 25}

    def test_without_redis_what_changes_things_is_refused_and_the_rest_goes_on(
        self, three: tuple[Stack, list[str]], tenant: Cast
    ) -> None:
        stack, _ = three
        assert patch(stack, tenant.olga, {"per_person": 20}).status_code == 200
        url = stack.start_web("lost web", REDIS_URL="redis://127.0.0.1:1/0")
        refused = chat(url, tenant.alice.key)
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == []
        assert httpx.get(f"{url}/api/v1/tools/", headers=tenant.alice.headers).status_code == 200
