"""The frame of the settings: which sections somebody has, and what opens the others."""

import pytest
from django.test import Client

from tests.pages.browsing import signed_in
from tests.people import Cast


def test_an_owner_has_the_sections_of_the_tenant_and_the_present_one_is_marked(tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    assert 'href="/settings/services/"' in client.get("/settings/").content.decode()
    page = client.get("/settings/services/").content.decode()
    assert page.count('href="/settings/services/" aria-current="page"') == 2


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_nobody_else_sees_or_opens_a_section_of_owners(tenant: Cast, who: str) -> None:
    client = signed_in(getattr(tenant, who))
    index = client.get("/settings/")
    assert index.status_code == 200
    assert "/settings/services/" not in index.content.decode()
    refused = client.get("/settings/services/")
    assert refused.status_code == 403
    assert "Only owners of your tenant open these settings." in refused.content.decode()


def test_somebody_who_is_not_signed_in_is_sent_to_the_log_in_page() -> None:
    answer = Client().get("/settings/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/accounts/login/?next=/settings/")
