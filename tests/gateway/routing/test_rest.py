"""Providers and models over REST: what owners say, what is refused, and that no key is ever shown."""

import json
from typing import Any

import pytest
from django.test import override_settings

from tests.database import rows
from tests.gateway.routing import owners
from tests.gateway.routing.upstream import Upstream
from tests.pages.browsing import InProcess
from tests.people import Cast, Person

KEY = "sk-secret-5d1f0c9e77"
PROVIDERS = "/api/v1/providers/"
MODELS = "/api/v1/models/"


class Api:
    """Somebody's client."""

    def __init__(self, person: Person):
        self._client = InProcess(headers=person.headers)

    def __call__(self, method: str, path: str, **body: Any) -> tuple[int, Any]:
        answer = self._client.generic(method, path, json.dumps(body), "application/json")
        return answer.status_code, json.loads(answer.content) if answer.content else None


def wanted(upstream: Upstream, **more: Any) -> dict[str, Any]:
    given = {"slug": "mine", "kind": "openai-compatible", "base_url": upstream.url, "api_key": KEY}
    return {**given, **more}


def test_a_provider_is_tested_saved_listed_changed_and_removed_and_its_key_is_in_no_answer(
    tenant: Cast, upstream: Upstream
) -> None:
    api = Api(tenant.olga)
    answers = [api("POST", PROVIDERS, **wanted(upstream))]
    assert answers[0][0] == 201
    assert upstream.listed[0]["Authorization"] == f"Bearer {KEY}"
    expected = {
        "slug": "mine",
        "kind": "openai-compatible",
        "base_url": upstream.url,
        "has_key": True,
        "models": None,
        "enabled": True,
        "version": 1,
        "problem": "",
    }
    assert {name: answers[0][1][name] for name in expected} == expected
    answers += [
        api("GET", PROVIDERS),
        api("GET", f"{PROVIDERS}mine/"),
        api("PATCH", f"{PROVIDERS}mine/", models=["m1"]),
    ]
    assert [len(answers[1][1]["results"]), answers[3][1]["version"], answers[3][1]["models"]] == [1, 2, ["m1"]]
    assert len(upstream.listed) == 1
    answers.append(api("POST", f"{PROVIDERS}mine/test/"))
    tested = answers[-1][1]
    assert (tested["ok"], tested["status"], tested["models"]) == (True, 200, ["m1", "m2"])
    assert api("DELETE", f"{PROVIDERS}mine/") == (204, None)
    assert api("GET", f"{PROVIDERS}mine/")[0] == 404
    assert KEY not in json.dumps(answers)
    recorded = rows("SELECT changes, action FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [row["action"] for row in recorded] == ["created", "changed", "deleted"]
    assert recorded[0]["changes"]["api_key"] == ["none", "set"]
    assert KEY not in json.dumps([row["changes"] for row in recorded])


def test_a_key_that_the_provider_refuses_is_not_saved(tenant: Cast, upstream: Upstream) -> None:
    upstream.list_status = 401
    status, answer = Api(tenant.olga)("POST", PROVIDERS, **wanted(upstream))
    assert (status, answer["code"], answer["field"]) == (400, "provider_failed", "api_key")
    assert KEY not in json.dumps(answer)
    assert rows("SELECT FROM model_providers WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_a_provider_that_is_away_or_has_no_list_is_saved_and_says_so(tenant: Cast, upstream: Upstream) -> None:
    upstream.list_status = 404
    api = Api(tenant.olga)
    status, answer = api("POST", PROVIDERS, **wanted(upstream))
    assert (status, answer["problem"]) == (201, "It answers, and has no list of models at this address.")
    status, answer = api("POST", PROVIDERS, **wanted(upstream, slug="away", base_url="http://127.0.0.1:1/v1"))
    assert (status, answer["problem"]) == (201, "It could not be reached, or its answer cannot be read.")


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/v1", "http://localhost:1/v1", "http://169.254.169.254/", "http://[::1]/", "http://0x7f.1/",
        "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://user:secret@example.com/", "file:///etc/passwd",
        "https://example.com/?key=x", "https://example.com/#x", "https://exa mple.com", "gopher://x", "x" * 3000, 7,
    ],
    ids=str,
)  # fmt: skip
def test_a_tenants_address_is_a_public_one(tenant: Cast, address: Any) -> None:
    given = {"slug": "mine", "kind": "openai", "base_url": address, "api_key": KEY}
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), ())):
        status, answer = Api(tenant.olga)("POST", PROVIDERS, **given)
    assert (status, answer["code"], answer["field"]) == (400, "invalid_provider", "base_url")
    assert rows("SELECT FROM model_providers WHERE tenant_id = %(t)s", t=tenant.id) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"slug": "offline"}, "slug"),
        ({"slug": "A"}, "slug"),
        ({"slug": "a/b"}, "slug"),
        ({"slug": ""}, "slug"),
        ({"slug": None}, "slug"),
        ({"slug": "x" * 33}, "slug"),
        ({"slug": "-x"}, "slug"),
        ({"kind": "azure"}, "kind"),
        ({"kind": []}, "kind"),
        ({"api_key": "a b"}, "api_key"),
        ({"api_key": "a\nb"}, "api_key"),
        ({"api_key": 1}, "api_key"),
        ({"api_key": "k" * 5000}, "api_key"),
        ({"models": "m"}, "models"),
        ({"models": ["a b"]}, "models"),
        ({"models": ["m"] * 501}, "models"),
        ({"enabled": 1}, "enabled"),
        ({"base_url": ""}, "base_url"),
        ({"x": 1}, "x"),
        ({"kind": "openai", "base_url": "", "api_key": ""}, "api_key"),
    ],
    ids=str,
)
def test_what_makes_no_provider_is_refused_by_its_field(
    tenant: Cast, upstream: Upstream, given: dict[str, Any], field: str
) -> None:
    status, answer = Api(tenant.olga)("POST", PROVIDERS, **wanted(upstream, **given))
    assert (status, answer["code"], answer["field"]) == (400, "invalid_provider", field)
    assert upstream.listed == []


def test_a_key_goes_to_another_host_only_when_it_is_given_anew(tenant: Cast, upstream: Upstream) -> None:
    owners.add(tenant, "mine", upstream.url, KEY)
    api = Api(tenant.olga)
    status, answer = api("PATCH", f"{PROVIDERS}mine/", base_url="http://127.0.0.1:1/v1")
    assert (status, answer["field"]) == (400, "api_key")
    assert api("PATCH", f"{PROVIDERS}mine/", kind="anthropic")[0] == 400
    assert upstream.listed == []
    assert api("PATCH", f"{PROVIDERS}mine/", base_url=upstream.url + "/")[0] == 200
    assert api("PATCH", f"{PROVIDERS}mine/", base_url="http://127.0.0.1:1/v1", api_key="")[1]["has_key"] is False


def test_two_owners_who_change_one_provider_are_told(tenant: Cast, upstream: Upstream) -> None:
    owners.add(tenant, "mine", upstream.url)
    api = Api(tenant.olga)
    assert api("PATCH", f"{PROVIDERS}mine/", enabled=False, version=1)[0] == 200
    status, answer = api("PATCH", f"{PROVIDERS}mine/", enabled=True, version=1)
    assert (status, answer["code"], answer["version"]) == (409, "changed_meanwhile", 2)
    assert api("POST", PROVIDERS, **wanted(upstream))[1]["code"] == "slug_taken"


def test_another_tenants_provider_is_not_there(tenant: Cast, other_tenant: Cast, upstream: Upstream) -> None:
    owners.add(tenant, "mine", upstream.url)
    api = Api(other_tenant.olga)
    assert api("GET", PROVIDERS)[1]["results"] == []
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "test/")):
        assert api(method, f"{PROVIDERS}mine/{path}")[0] == 404
    assert upstream.listed == []


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_only_owners_see_and_change_providers_and_models(tenant: Cast, who: str) -> None:
    api = Api(getattr(tenant, who))
    asked = [("GET", PROVIDERS), ("POST", PROVIDERS), ("DELETE", f"{PROVIDERS}mine/"), ("GET", MODELS), ("PUT", MODELS)]
    for method, path in asked:
        status, answer = api(method, path)
        assert (status, answer["code"]) == (403, "forbidden")
        assert answer["detail"] == f"This needs the scope admin. The owner of your tenant is {tenant.olga.username}."


def test_models_are_said_whole_or_in_part(tenant: Cast) -> None:
    api = Api(tenant.olga)
    assert api("GET", MODELS)[1]["allowed"] is None
    price = {"model": "offline/*", "input": 2.5, "output": "10.00", "cached": None}
    said = {"allowed": ["offline/*"], "fallbacks": {"a/b": ["offline/demo"]}, "prices": [price]}
    status, answer = api("PUT", MODELS, **said)
    stored = [{"model": "offline/*", "input": "2.5", "output": "10", "cached": None}]
    assert (status, answer["version"], answer["prices"], answer["available"]) == (200, 1, stored, ["offline/demo"])
    answer = api("PATCH", MODELS, allowed=[])[1]
    assert (answer["allowed"], answer["fallbacks"], answer["available"]) == ([], said["fallbacks"], [])
    status, answer = api("PUT", MODELS, version=1)
    assert (status, answer["code"], answer["version"]) == (409, "changed_meanwhile", 2)
    answer = api("PUT", MODELS, version=2)[1]
    assert (answer["allowed"], answer["fallbacks"], answer["prices"]) == (None, {}, [])
    recorded = rows("SELECT changes FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert [row["changes"].get("allowed") for row in recorded] == [
        [None, ["offline/*"]],
        [["offline/*"], []],
        [[], None],
    ]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"allowed": "openai/*"}, "allowed"),
        ({"allowed": ["gpt-4o"]}, "allowed[0]"),
        ({"allowed": ["a/b c"]}, "allowed[0]"),
        ({"allowed": ["a/\u0440"]}, "allowed[0]"),
        ({"allowed": [7]}, "allowed[0]"),
        ({"allowed": ["a/b"] * 201}, "allowed"),
        ({"fallbacks": []}, "fallbacks"),
        ({"fallbacks": {"a/b": "c/d"}}, "fallbacks.a/b"),
        ({"fallbacks": {"a/b": ["c/*"]}}, "fallbacks.a/b"),
        ({"fallbacks": {"a/b": []}}, "fallbacks.a/b"),
        ({"prices": {}}, "prices"),
        ({"prices": [{"model": "a/b"}]}, "prices[0]"),
        ({"prices": [{"model": "a/b", "input": -1, "output": 1}]}, "prices[0].input"),
        ({"prices": [{"model": "a/b", "input": 1, "output": "1e9"}]}, "prices[0].output"),
        ({"prices": [{"model": "a/b", "input": 1, "output": 1, "x": 1}]}, "prices[0]"),
        ({"x": 1}, "x"),
    ],
    ids=str,
)
def test_what_cannot_be_said_of_models_is_refused_by_its_field(tenant: Cast, given: dict[str, Any], field: str) -> None:
    status, answer = Api(tenant.olga)("PUT", MODELS, **given)
    assert (status, answer["code"], answer["field"]) == (400, "invalid_models", field)
    assert rows("SELECT FROM model_settings WHERE tenant_id = %(t)s", t=tenant.id) == []
