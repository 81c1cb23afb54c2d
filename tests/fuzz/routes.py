"""Every address that Toolgate answers, as the URL configuration and the bare ASGI routes have them."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver

from gateway.compat.app import apis

VALUES = {"uuid": str(uuid.UUID(int=7)), "str": "x", "path": "x", "slug": "x", "int": "7"}
_CONVERTED = re.compile(r"<(?:(?P<converter>\w+):)?\w+>")
# Their patterns are regular expressions over everything below them.
PATTERNS = {"^api/": "api/nowhere", r"^(?P<url>.*)$": "nowhere"}


def _patterns(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        path = before + PATTERNS.get(str(entry.pattern), str(entry.pattern))
        if isinstance(entry, URLResolver):
            yield from _patterns(entry, path)
        elif isinstance(entry, URLPattern):
            yield path


def templates() -> list[str]:
    """Each route with its parameters, as in `api/v1/runs/<uuid:run_id>`; the admin's own catch-all left out."""
    found = {"/" + path for path in _patterns(get_resolver()) if "(?P<" not in path}
    found |= {
        "/v1/models",
        "/v1/models/<str:name>",
        "/v1/responses/<str:id>",
        "/v1/messages/count_tokens",
        *apis(),
    }
    return sorted(found)


def filled(template: str, value: str | None = None) -> str:
    """The route's path with a value that it takes, or `value`, for each parameter."""
    return _CONVERTED.sub(lambda found: value or VALUES[found["converter"] or "str"], template)


def has_parameters(template: str) -> bool:
    """Whether it has any."""
    return _CONVERTED.search(template) is not None


def query_names(template: str) -> list[str]:
    """What its query may name: of a list in the admin its filters, its search and its order; else what any route
    takes."""
    for model, model_admin in admin.site._registry.items():
        if template == f"/admin/{model._meta.app_label}/{model._meta.model_name}/":
            return [*_filters(model_admin), "q", "o", "p", "e", "all", "_popup", "_to_field", *_dates(model_admin)]
    if template.startswith("/admin/"):
        return ["_to_field", "_changelist_filters", "next", "q", "app_label"]
    return API if template.startswith(("/api/", "/v1/")) else PAGES


def _filters(model_admin: Any) -> Iterator[str]:
    for each in model_admin.list_filter:
        kind = each if isinstance(each, type) else None
        name = each[0] if isinstance(each, tuple) else each
        if kind is not None:
            yield kind.parameter_name  # type: ignore[attr-defined]
        else:
            yield from (
                f"{name}{ending}" for ending in ("__exact", "__id__exact", "__isnull", "__gte", "__from", "_from")
            )


def _dates(model_admin: Any) -> Iterator[str]:
    if name := model_admin.date_hierarchy:
        yield from (f"{name}__{part}" for part in ("year", "month", "day", "gte"))


API = [
    *("q", "tool", "status", "error_code", "conversation", "run", "user", "since", "until", "cursor", "limit", "agent"),
    *("style", "erase", "format", "version", "lang"),
]
PAGES = [
    *(
        "q",
        "tool",
        "outcome",
        "user",
        "since",
        "until",
        "before",
        "after",
        "open",
        "newest",
        "c",
        "days",
        "month",
        "run",
    ),
    *("status", "reader", "action", "next", "tenant", "rule", "page"),
]
