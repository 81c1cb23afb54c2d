"""Every role may do what the table says, and nothing else; every route and command is in the table."""

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.urls import URLResolver

from gateway.config.urls import urlpatterns
from tests.browser.sessions import session_of
from tests.conftest import ROOT
from tests.database import rows
from tests.people import Cast, Person
from tests.rights.action import ROLES, Action, areas
from tests.stack import Stack

AREAS = areas()
ACTIONS = [action for of_area in AREAS.values() for action in of_area]
_PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>")
_TOKEN = "t" * 32
# Names of those who can do what somebody may not: a refusal has one of them.
_WHO = re.compile(r"\b(owner|approver|auditor|operator|superuser|administrator|scope)s?\b")


def _routes(patterns: list[Any], prefix: str = "/") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, path)
        else:
            yield path, pattern.callback


def _shown(path: str) -> str:
    return _PARAMETER.sub(r"<\2>", path)


_ALL = dict(_routes(urlpatterns))
ROUTES = {path: view for path, view in _ALL.items() if path.startswith(("/api/v1/", "/settings/"))}
KINDS = {_shown(path): {name: kind for kind, name in _PARAMETER.findall(path)} for path in _ALL}


def test_every_request_of_the_api_is_in_the_table() -> None:
    served = {
        f"{method.upper()} {_shown(path)}"
        for path, view in ROUTES.items()
        if hasattr(view, "view_class")
        for method in ("get", "post", "put", "patch", "delete")
        if hasattr(view.view_class, method) and method in view.view_class.http_method_names
    }
    _compare(served, {request for action in ACTIONS for request in action.api})


def test_every_page_of_the_settings_is_in_the_table() -> None:
    served = {_shown(path) for path, view in ROUTES.items() if not hasattr(view, "view_class")}
    listed = [request.partition(" ")[2] for action in ACTIONS for request in action.page]
    _compare(served, {path for path in listed if path.startswith("/settings/")})


def test_every_command_is_in_the_table() -> None:
    files = [path for path in Path(ROOT).glob("*/management/commands/*.py") if path.stem != "__init__"]
    # They take the place of Django's, and are for nobody in a tenant.
    _compare({path.stem for path in files}, {name for action in ACTIONS for name in action.command})


def _compare(served: set[str], listed: set[str]) -> None:
    assert served - listed == set(), "not in the table: add a row in tests/rights/rows/"
    assert listed - served == set(), "in the table, and nowhere else"


@pytest.mark.parametrize("area", sorted(AREAS))
def test_each_role_may_do_what_the_table_says(stack: Stack, tenant: Cast, area: str) -> None:
    wrong: list[str] = []
    # First what is refused, which must change nothing.
    for may in (False, True):
        for action in AREAS[area]:
            values = action.given(stack, tenant) if action.given else {}
            for role, name in ROLES.items():
                if (role in action.may) is may:
                    wrong += _asked(stack, getattr(tenant, name), role, action, values)
        if not may:
            assert rows("SELECT * FROM setting_changes WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert not wrong, "\n".join(wrong)


def _asked(stack: Stack, person: Person, role: str, action: Action, values: dict[str, str]) -> Iterator[str]:
    """What is wrong about the answers to the person."""
    body = {name: values.get(str(value)[1:-1], value) for name, value in action.body.items()}
    with httpx.Client(base_url=stack.url, headers=person.headers) as api:
        for request in action.api:
            answer = _answer(api, request, values, json=body)
            if problem := _problem(answer, role, action):
                yield f"{role}: {request} ({action.what}): {problem}"
            elif role not in action.may and answer.headers["content-type"] != "application/problem+json":
                yield f"{role}: {request} ({action.what}): no problem+json"
    if not action.page:
        return
    cookies = {"sessionid": session_of(person), "csrftoken": _TOKEN}
    with httpx.Client(base_url=stack.url, cookies=cookies, headers={"X-CSRFToken": _TOKEN}) as browser:
        for request in action.page:
            if problem := _problem(_answer(browser, request, values, data=body), role, action):
                yield f"{role}: {request} ({action.what}): {problem}"


def _answer(client: httpx.Client, request: str, values: dict[str, str], **body: Any) -> httpx.Response:
    method, _, path = request.partition(" ")
    kinds = KINDS[path]

    def value(name: str) -> str:
        return values.get(name) or {"uuid": str(uuid.uuid4()), "int": "1"}.get(kinds.get(name, ""), "nothing-of-that")

    address = _PARAMETER.sub(lambda found: value(found[2]), path)
    return client.request(method, address, **({} if method in ("GET", "DELETE") else body))


def _problem(answer: httpx.Response, role: str, action: Action) -> str:
    if answer.status_code in (401, 405) or answer.status_code >= 500:
        return f"HTTP {answer.status_code}"
    if role in action.may:
        return f"refused: {answer.text[-300:]}" if answer.status_code == 403 else ""
    if role in action.hidden_from and answer.status_code == 404:
        return ""
    if answer.status_code != 403:
        return f"HTTP {answer.status_code} where it must be refused"
    return "" if _WHO.search(answer.text.lower()) else f"the refusal does not say who can: {answer.text[-300:]}"
