"""The pages of connections, where they do not need an authorization server."""

from django.conf import settings
from django.test import Client

from tests.connections.connecting import add
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import Cast

CREDENTIAL = {
    "type": "oauth_user", "client_id": "c", "scopes": ["<b>all</b>"],
    "authorization_endpoint": "https://login.example.com/auth", "token_endpoint": "https://login.example.com/token",
}  # fmt: skip


def test_toolgate_publishes_what_it_is_as_a_client() -> None:
    answer = Client().get("/connections/client.json")
    assert answer.status_code == 200
    document = answer.json()
    assert document["client_id"] == f"{settings.PUBLIC_URL}/connections/client.json"
    assert document["redirect_uris"] == [f"{settings.PUBLIC_URL}/connections/callback/"]
    assert document["token_endpoint_auth_method"] == "none"


def test_nothing_that_comes_back_says_where_to_go_and_nobody_connects_without_being_logged_in(tenant: Cast) -> None:
    add(tenant, "http://127.0.0.2:9", CREDENTIAL)
    back = "/connections/callback/?state=x&code=y&iss=https://evil.example.com&next=https://evil.example.com"
    assert Client().get(back).headers["Location"].startswith("/accounts/login/?next=/connections/callback/")
    answer = signed_in(tenant.alice).get(back, follow=True)
    assert answer.redirect_chain == [("/settings/connections/", 302)]
    assert "This was not begun here by you" in answer.content.decode()
    assert rows("SELECT 1 FROM connections WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []


def test_the_way_out_is_a_link_that_says_where_it_leads(tenant: Cast) -> None:
    add(tenant, "http://127.0.0.2:9", CREDENTIAL)
    alice = signed_in(tenant.alice)
    assert "&lt;b&gt;all&lt;/b&gt;" in alice.get("/settings/connections/").content.decode()
    page = alice.post("/settings/connections/desk/connect/").content.decode()
    assert "Continue to login.example.com" in page and 'href="https://login.example.com/auth?' in page
    assert alice.get("/settings/connections/desk/connect/").status_code == 405
    gone = alice.post("/settings/connections/none/connect/", follow=True).content.decode()
    assert "There is no such service." in gone
