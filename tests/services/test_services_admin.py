"""Operators read every tenant's services in the admin, and change what owners can change."""

import pytest

from tests.approvals.admin import Admin, operator
from tests.database import rows
from tests.people import Cast
from tests.services.api import TOKEN, Owner
from tests.stack import Stack

SERVICES, TOOLS = "/admin/services/service/", "/admin/services/servicetool/"


@pytest.fixture
def admin(stack: Stack, tenant: Cast) -> Admin:
    """An operator, who is also the tenant's owner."""
    operator(tenant.olga)
    return Admin(stack, tenant.olga)


def test_services_and_tools_are_read_without_their_credential(
    stack: Stack, tenant: Cast, admin: Admin, url: str
) -> None:
    Owner(stack, tenant.olga).add(url, credential={"type": "bearer", "token": TOKEN})
    [service] = rows("SELECT * FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    [tool] = rows("SELECT * FROM service_tools WHERE tenant_id = %(t)s AND name = 'get_order'", t=tenant.id)
    for path in (SERVICES, TOOLS, f"{SERVICES}{service['id']}/change/", f"{TOOLS}{tool['id']}/change/"):
        page = admin.get(path)
        assert page.status_code == 200, path
        assert TOKEN not in page.text and service["secret"] not in page.text
    assert "/api/v1/orders/{order_id}" in admin.get(f"{TOOLS}{tool['id']}/change/").text
    assert admin.get(f"{SERVICES}add/").status_code == admin.get(f"{TOOLS}add/").status_code == 403


def test_an_operator_switches_a_service_off_and_moves_it_within_the_same_bounds(
    stack: Stack, tenant: Cast, admin: Admin, url: str
) -> None:
    owner = Owner(stack, tenant.olga)
    owner.add(url)
    [service] = rows("SELECT id FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    path = f"{SERVICES}{service['id']}/change/"
    refused = admin.post(path, {"url": "http://10.0.0.1", "timeout": "5"})
    assert "not a public address" in refused.text
    assert owner.get()["enabled"] is True
    admin.post(path, {"url": f"{url}/v2", "timeout": "5"})
    assert (owner.get()["enabled"], owner.get()["url"], owner.get()["timeout"]) == (False, f"{url}/v2", 5)


def test_an_operator_moves_no_service_with_its_credential_to_another_host(
    stack: Stack, tenant: Cast, admin: Admin, url: str
) -> None:
    owner = Owner(stack, tenant.olga)
    owner.add(url, credential={"type": "bearer", "token": TOKEN})
    [service] = rows("SELECT id FROM services WHERE tenant_id = %(t)s", t=tenant.id)
    path = f"{SERVICES}{service['id']}/change/"
    refused = admin.post(path, {"url": "http://127.0.0.2:9", "timeout": "5"})
    assert "The credential was given for another host" in refused.text
    assert owner.get()["url"] == url
    admin.post(path, {"url": f"{url}/v2", "timeout": "5"})
    assert owner.get()["url"] == f"{url}/v2"


def test_an_operator_raises_the_tier_of_a_tool(stack: Stack, tenant: Cast, admin: Admin, url: str) -> None:
    owner = Owner(stack, tenant.olga)
    owner.add(url)
    [tool] = rows("SELECT id FROM service_tools WHERE tenant_id = %(t)s AND name = 'get_order'", t=tenant.id)
    admin.post(f"{TOOLS}{tool['id']}/change/", {"enabled": "on", "tier": "elevated"})
    found = owner.tool("get_order")
    assert (found["enabled"], found["tier"], found["labels"]["reads_private"]) == (True, "elevated", False)
