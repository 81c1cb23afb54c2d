"""A person in a browser: cookies, CSRF tokens and forms."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.people import PASSWORD, Person
from tests.stack import Stack, somewhere_else
from tests.waiting import PATIENCE_SECONDS

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def token_of(page: str) -> str:
    """The CSRF token of a page's form."""
    found = _TOKEN.search(page)
    assert found, page
    return found[1]


def log_in(browser: httpx.Client, username: str, password: str) -> httpx.Response:
    """Send the log-in form."""
    token = token_of(browser.get("/accounts/login/").text)
    form = {"csrfmiddlewaretoken": token, "username": username, "password": password}
    return browser.post("/accounts/login/", data=form)


@contextmanager
def logged_in(stack: Stack, person: Person) -> Iterator[httpx.Client]:
    """A browser with the person's session; their tenant must have been made with a password."""
    with httpx.Client(base_url=stack.url, timeout=PATIENCE_SECONDS, headers=somewhere_else()) as browser:
        answer = log_in(browser, person.username, PASSWORD)
        assert answer.status_code == 302, answer.text
        yield browser


@contextmanager
def with_session(stack: Stack, person: Person) -> Iterator[httpx.Client]:
    """A browser of somebody who has logged in before, where the log-in and its slow hash are not what is tested."""
    from tests.browser.sessions import session_of

    cookies = {"sessionid": session_of(person)}
    with httpx.Client(base_url=stack.url, timeout=PATIENCE_SECONDS, cookies=cookies) as browser:
        yield browser
