"""An operator makes a tenant's webhook, sees its secret once, and switches it off and on."""

import re
from typing import Any

import pytest

from tenants.people.encryption import decrypt
from tests.approvals.admin import Admin, operator
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack

PAGE = "/admin/approvals/webhookendpoint/"


def endpoints(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM webhook_endpoints WHERE tenant_id = %(t)s", t=tenant.id)


def test_the_secret_is_shown_once_and_kept_encrypted(stack: Stack, tenant: Cast) -> None:
    operator(tenant.olga)
    admin = Admin(stack, tenant.olga)
    answer = admin.post(f"{PAGE}add/", {"tenant": str(tenant.id), "url": "https://hooks.example/a"})
    [secret] = re.findall(r"data-secret>(whsec_[A-Za-z0-9+/=]+)<", answer.text)
    assert "no-store" in answer.headers["cache-control"]
    [endpoint] = endpoints(tenant)
    assert (endpoint["url"], endpoint["enabled"]) == ("https://hooks.example/a", True)
    assert secret not in endpoint["secret"]
    assert decrypt(endpoint["secret"]) == secret
    for path in (PAGE, f"{PAGE}{endpoint['id']}/change/"):
        page = admin.get(path)
        assert (page.status_code, secret in page.text, endpoint["secret"] in page.text) == (200, False, False)
        assert "https://hooks.example/a" in page.text


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://0x7f.1/", "ftp://a.example/", "https://u:p@a.example/"])
def test_a_url_that_can_never_be_reached_makes_no_webhook(stack: Stack, tenant: Cast, url: str) -> None:
    operator(tenant.olga)
    answer = Admin(stack, tenant.olga).post(f"{PAGE}add/", {"tenant": str(tenant.id), "url": url})
    assert "data-secret" not in answer.text
    assert endpoints(tenant) == []


def test_a_webhook_is_switched_off_and_on_and_nothing_else_changes(stack: Stack, tenant: Cast) -> None:
    operator(tenant.olga)
    admin = Admin(stack, tenant.olga)
    admin.post(f"{PAGE}add/", {"tenant": str(tenant.id), "url": "https://hooks.example/a"})
    [before] = endpoints(tenant)
    path = f"{PAGE}{before['id']}/change/"
    admin.post(path, {"url": "https://other.example/"})
    assert endpoints(tenant) == [{**before, "enabled": False}]
    admin.post(path, {"enabled": "on"})
    assert endpoints(tenant) == [before]
    assert admin.get(f"{PAGE}{before['id']}/delete/").status_code == 403


def test_what_became_of_notices_is_listed_and_cannot_be_changed(stack: Stack, tenant: Cast) -> None:
    operator(tenant.olga)
    admin = Admin(stack, tenant.olga)
    assert admin.get("/admin/approvals/approvalnotice/").status_code == 200
    assert admin.get("/admin/approvals/approvalnotice/add/").status_code == 403
