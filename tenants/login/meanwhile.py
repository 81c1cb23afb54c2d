"""The page in place of a change that is based on a setting as it was, which somebody has changed since."""

from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from tenants.people.changes import ChangedMeanwhile

# The field of a form that has the revision of the setting that it shows.
BASED_ON = "based_on"
# Of the form: nothing that its user has typed, or that may be shown again.
_UNSEEN = frozenset({"csrfmiddlewaretoken", BASED_ON, "confirmed"})
# A dot is in the names of a credential's fields alone, of which any may be a secret.
_SECRET = (".", "secret", "password", "again", "token", "api_key", "code", "credential")
_LONGEST = 2000


def answer(request: HttpRequest, changed: ChangedMeanwhile) -> HttpResponse:
    """What the setting is now, and what was sent, side by side; nothing of it was saved."""
    now = None if changed.now is None else [(_label(name), _words(value)) for name, value in changed.now.values.items()]
    typed = [
        (_label(name), _words(request.POST.getlist(name)))
        for name in request.POST
        if name not in _UNSEEN and not any(word in name for word in _SECRET)
    ]
    context = {"name": changed.now.name if changed.now else "", "now": now, "typed": typed, "back": _back(request)}
    response = render(request, "settings/changed_meanwhile.html", context, status=412)
    response["Cache-Control"] = "no-store"
    return response


def _back(request: HttpRequest) -> str:
    """The page that the form is on."""
    referer = request.headers.get("Referer", "")
    here = url_has_allowed_host_and_scheme(referer, {request.get_host()}, require_https=request.is_secure())
    return urlsplit(referer).path if referer and here else request.path


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(map(_words, value)) or "none"
    return "none" if value in (None, "") else str(value)[:_LONGEST]
