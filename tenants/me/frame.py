"""The frame of the pages under `/settings/`: its sections, in order, and who sees which."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.people.principal import Principal

YOURS, TENANT = "Yours", "Tenant"


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of the navigation; its page has the URL name `settings-<name>`.

    `icon` is a symbol of static/img/icons.svg. `scope` is what a viewer must have; empty: everybody has the section.
    `for_readers`: those who read the tenant's whole history, auditors and owners, have it.
    """

    name: str
    label: str
    icon: str
    about: str
    group: str = YOURS
    scope: str = ""
    for_readers: bool = False

    @property
    def url(self) -> str:
        """The path of its first page."""
        return reverse(f"settings-{self.name}")


# The one place where a section is registered.
SECTIONS: tuple[Section, ...] = (
    # Everybody's.
    Section("keys", "API keys", "key", "Keys for your programs: make, replace and revoke them."),
    Section("applications", "Applications", "link", "MCP clients that may act for you."),
    Section("sessions", "Sessions", "panel", "Where you are logged in, and logging out there."),
    Section("passkeys", "Passkeys", "key", "Log in by the fingerprint, face or PIN of your device."),
    Section("second-factor", "Second factor", "seal", "Ask for a code of your phone after the password."),
    Section("password", "Password", "person", "Change it, and log out everywhere else."),
    Section("profile", "Profile", "person", "The language you write in, and your time zone."),
    Section("connections", "My connections", "link", "Your accounts elsewhere, which tools use in your name.", YOURS),
    Section("destinations", "Destinations", "send", "Where messages may go without asking.", YOURS),
    Section("schedules", "Schedules", "wait", "What agents are asked again and again, and when.", YOURS),
    Section("spend", "Spend", "chart", "What models cost, and what may be spent.", YOURS),
    # The tenant's.
    Section(
        "people", "People", "person", "Members and their roles; invite somebody, remove somebody.", TENANT, "admin"
    ),
    Section("sign-on", "Sign-in", "seal", "Single sign-on, and whether people need a second factor.", TENANT, "admin"),
    Section(
        "safety", "Safety", "stop", "What is stopped at once; how many requests per minute.", TENANT, "approvals:read"
    ),
    Section(
        "models", "Models", "key", "Providers with your keys, and which of their models may be used.", TENANT, "admin"
    ),
    Section("agents", "Agents", "tool", "What members chat with: instructions, model, tools, limits.", TENANT, "admin"),
    Section("tools", "Tools", "list", "Which tools may be called, how, and by whom.", TENANT, "admin"),
    Section("services", "Services", "plug", "APIs and servers whose tools agents may call.", TENANT, "admin"),
    Section("retention", "Retention", "eraser", "How long arguments and results are kept.", TENANT, "admin"),
    Section("notifications", "Notifications", "mail", "Where events go: e-mail, webhooks, Slack.", TENANT, "admin"),
    Section("changes", "Changes", "list", "Who changed which setting from what to what.", TENANT, for_readers=True),
)


def visible(principal: Principal) -> list[Section]:
    """The sections that somebody may open."""
    return [
        each
        for each in SECTIONS
        if (not each.scope or each.scope in principal.scopes) and (not each.for_readers or principal.sees_whole_history)
    ]


def section_frame(request: SignedInRequest, name: str) -> dict[str, Any]:
    """What `settings/base.html` needs on a page of the section; raises PermissionDenied when it is not the viewer's."""
    sections = visible(request.principal)
    found = next((each for each in sections if each.name == name), None)
    if found is None and any(each.name == name and each.for_readers for each in SECTIONS):
        raise PermissionDenied("Only auditors and owners of your tenant read this. An owner can change your role.")
    if found is None:
        raise PermissionDenied("Only owners of your tenant open these settings. An owner can change your role.")
    return frame(request, "settings") | {"sections": sections, "section": found}


@require_safe
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The sections that the viewer may open, each with a line about it."""
    context = frame(request, "settings") | {"sections": visible(request.principal), "section": None}
    return render(request, "settings/index.html", context)


urlpatterns = [path("", index, name="settings")]
