"""The way from a model's name to who answers, which is remembered for the same rights of its tenant."""

import uuid

import pytest

from gateway.providers.demo.provider import DemoProvider
from gateway.providers.registry import DEMO_MODEL, Providers, UnknownModel
from gateway.providers.routing import resolution
from gateway.providers.routing.resolution import MOST_ROUTES, ModelRules, Routing
from gateway.providers.routing.rows import NamedProvider

MINE = NamedProvider(uuid.uuid4(), True, "mine", "openai", "", "", None, 1, True)
NOBODY = Providers({}, "mine/m1")


def _routing() -> Routing:
    return Routing({"mine": MINE}, ModelRules(fallbacks={"mine/m1": ("mine/m2", "mine/m3")}))


def _names(routing: Routing, environment: Providers = NOBODY, model: str = "mine/m1", first: str = "") -> list[str]:
    return [each.name for each in routing.route(model, environment, first)]


def test_who_answered_last_is_asked_first_also_where_the_way_is_remembered() -> None:
    routing = _routing()
    assert _names(routing) == ["mine/m1", "mine/m2", "mine/m3"]
    assert _names(routing, first="mine/m3") == ["mine/m3", "mine/m1", "mine/m2"]
    assert _names(routing) == ["mine/m1", "mine/m2", "mine/m3"]
    assert routing.route("mine/m1", NOBODY) is routing.route("", NOBODY)


def test_a_way_is_that_of_the_operators_providers_it_was_found_with() -> None:
    routing = _routing()
    assert _names(routing, model="") == ["mine/m1", "mine/m2", "mine/m3"]
    assert _names(routing, Providers({}, "mine/m9"), model="") == ["mine/m9"]
    assert _names(routing, Providers({DemoProvider.name: DemoProvider}, ""), model=DEMO_MODEL) == [DEMO_MODEL]
    with pytest.raises(UnknownModel):
        routing.route(DEMO_MODEL, NOBODY)


def test_names_that_requests_invent_are_not_remembered_without_end() -> None:
    routing = _routing()
    for number in range(3 * MOST_ROUTES):
        assert _names(routing, model=f"mine/x{number}") == [f"mine/x{number}"]
        assert len(routing._routes) <= MOST_ROUTES


def test_a_tenant_that_says_nothing_has_another_routing_under_another_version() -> None:
    tenant_id, one, two = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    first = resolution.remembered(tenant_id, one, None)
    assert resolution.remembered(tenant_id, one, None) is first
    assert resolution.remembered(tenant_id, two, None) is not first
    assert resolution.remembered(uuid.uuid4(), one, None) is not first
    assert (first.version, first.configured) == (one, False)
