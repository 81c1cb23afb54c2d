"""An operator's way through the admin, as a browser without scripts would go it."""

import re
from typing import Any

import httpx

from tenants.models import User
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.people import Person
from tests.stack import Stack

QUEUE = "/admin/approvals/approvalrequest/"


def operator(person: Person) -> None:
    """Make the person an operator of all of Toolgate."""
    with on_login("operator"):
        User.objects.filter(pk=person.principal.user_id).update(is_staff=True, is_superuser=True)


class Admin:
    """A signed-in operator's browser."""

    def __init__(self, stack: Stack, person: Person):
        self._client = httpx.Client(
            base_url=stack.url, cookies={"sessionid": session_of(person)}, follow_redirects=True
        )

    @property
    def cookies(self) -> httpx.Cookies:
        """What the browser has been given."""
        return self._client.cookies

    def get(self, path: str = QUEUE, **query: Any) -> httpx.Response:
        """A page."""
        return self._client.get(path, params=query)

    def post(self, path: str, form: dict[str, Any], page: str | None = None) -> httpx.Response:
        """What the page answers to a form of `page`, or of itself."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(page or path).text)
        assert token is not None
        return self._client.post(path, data={"csrfmiddlewaretoken": token[1], **form})
