"""Schemathesis as an owner over the services' operations, on a service that is there."""

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from tests.people import Cast, make_tenant
from tests.rest.test_openapi import CHECKS, OPERATIONS
from tests.services.api import Owner
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

EXAMPLES = 40
SERVICES = [each for each in OPERATIONS if each[1].startswith("/api/v1/services/")]


@pytest.fixture(scope="module")
def cast() -> Cast:
    """Whose services are made."""
    return make_tenant()


@pytest.fixture(scope="module")
def document(stack: Stack) -> dict[str, Any]:
    """The document as it is served."""
    accept = {"Accept": "application/vnd.oai.openapi+json"}
    found: dict[str, Any] = httpx.get(f"{stack.url}/api/schema/", headers=accept).json()
    return found


@pytest.mark.parametrize(("method", "path"), SERVICES)
def test_no_generated_request_of_an_owner_breaks_a_service(
    stack: Stack, cast: Cast, document: dict[str, Any], url: str, method: str, path: str
) -> None:
    owner = Owner(stack, cast.olga)
    if owner.ask("GET", "desk/").status_code == 404:
        owner.add(url)
    operation = schemathesis.openapi.from_dict(document)[path][method]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy())
    def generated(case: schemathesis.Case) -> None:
        case.path_parameters = {name: {"slug": "desk", "tool": "get_order"}[name] for name in case.path_parameters}
        response = case.call(base_url=stack.url, headers=cast.olga.headers, timeout=PATIENCE_SECONDS)
        case.validate_response(response, checks=CHECKS)

    generated()
