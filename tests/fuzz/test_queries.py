"""Whatever a view reads of its query is noted, so that the fuzzer leaves out what nobody reads."""

from collections.abc import Callable
from copy import copy, deepcopy
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.template import Context, Template

from tests.fuzz.queries import noted

NAMES = ["q", "until", "page"]


def _request() -> ASGIRequest:
    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"q=1&page=2", "headers": []}
    return ASGIRequest(scope, BytesIO())


ONE: dict[str, Callable[[Any], object]] = {
    "an item": lambda request: request.GET["q"],
    "a value": lambda request: request.GET.get("q", ""),
    "a value by name": lambda request: request.GET.get(key="q"),
    "all its values": lambda request: request.GET.getlist("q"),
    "whether it is there": lambda request: "q" in request.GET,
    "in a template": lambda request: Template("{{ request.GET.q }}").render(Context({"request": request})),
}
WHOLE: dict[str, Callable[[Any], object]] = {
    "its names": lambda request: list(request.GET),
    "a dict of it": lambda request: dict(request.GET),
    "a dict with it": lambda request: {**request.GET},
    "keyword arguments": lambda request: (lambda **given: given)(**request.GET),
    "an update": lambda request: {}.update(request.GET),
    "a union": lambda request: {} | request.GET,
    "its items": lambda request: list(request.GET.items()),
    "its values": lambda request: list(request.GET.values()),
    "its lists": lambda request: list(request.GET.lists()),
    "as a dict": lambda request: request.GET.dict(),
    "a copy": lambda request: request.GET.copy(),
    "a shallow copy": lambda request: copy(request.GET),
    "a deep copy": lambda request: deepcopy(request.GET),
    "as text": lambda request: request.GET.urlencode(),
    "its representation": lambda request: repr(request.GET),
    "whether there is any": lambda request: bool(request.GET),
    "whether it is another": lambda request: request.GET == {},
    "the address": lambda request: request.get_full_path(),
    "the absolute address": lambda request: request.build_absolute_uri(),
}


@pytest.mark.parametrize("read", ONE.values(), ids=ONE)
def test_a_name_that_is_read_is_noted(read: Callable[[Any], object]) -> None:
    with noted() as reads:
        read(_request())
    assert reads.among(NAMES) == ["q"]


@pytest.mark.parametrize("read", WHOLE.values(), ids=WHOLE)
def test_who_reads_the_whole_query_reads_every_name(read: Callable[[Any], object]) -> None:
    with noted() as reads:
        request = _request()
        assert request.GET.get("nothing") is None
        assert reads.among(NAMES) == []
        read(request)
    assert reads.among(NAMES) == NAMES


def test_every_name_may_count_where_nothing_of_djangos_parsed_the_query() -> None:
    with noted() as reads:
        _ = _request().path
    assert reads.among(NAMES) == NAMES
