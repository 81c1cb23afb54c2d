"""`/settings/applications/`: the OAuth clients that may act for the caller here, and an end to that."""

import uuid

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from tenants.login import clients
from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame

_SHOWN = 50


@require_safe
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """Who may act for the caller in this tenant."""
    page = Paginator(clients.granted(request.principal), _SHOWN).get_page(request.GET.get("page"))
    context = section_frame(request, "applications") | {"grants": page.object_list, "page_of": page}
    return render(request, "settings/applications.html", context)


@require_POST
@signed_in
def end(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """End what a client may do, with all its tokens."""
    ended = clients.end(request.principal, id)
    if ended is None:
        raise Http404
    messages.success(request, f"{ended} may not act for you any more.")
    return redirect("settings-applications")


urlpatterns = [
    path("", index, name="settings-applications"),
    path("<uuid:id>/end/", end, name="settings-application-end"),
]
