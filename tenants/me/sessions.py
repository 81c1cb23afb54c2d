"""`/settings/sessions/`: where one is logged in, and an end to that."""

import uuid

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Case, When
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from tenants.login import sessions
from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame

_SHOWN = 50


@require_safe
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The sessions that go on, this one first."""
    this = request.session.session_key
    own = sessions.of(request.principal.user_id)
    own = own.order_by(Case(When(session_key=this, then=0), default=1), "-last_used_at", "-id")
    page = Paginator(own, _SHOWN).get_page(request.GET.get("page"))
    listed = [(row, sessions.device(row.agent), row.session_key == this) for row in page.object_list]
    context = section_frame(request, "sessions") | {"listed": listed, "page_of": page}
    return render(request, "settings/sessions.html", context)


@require_POST
@signed_in
def end(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """End one of them."""
    row = sessions.of(request.principal.user_id).filter(pk=id).first()
    if row is None:
        raise Http404
    if row.session_key == request.session.session_key:
        # As logging out does it: nothing of the session is stored again after this answer.
        request.session.flush()
        return redirect("login")
    sessions.end(row)
    messages.success(request, "You are logged out there.")
    return redirect("settings-sessions")


@require_POST
@signed_in
def end_others(request: SignedInRequest) -> HttpResponse:
    """End all but this one."""
    ended = sessions.end_others(request.principal.user_id, request.session.session_key)
    messages.success(request, f"You are logged out everywhere else ({ended} session{'s' if ended != 1 else ''}).")
    return redirect("settings-sessions")


urlpatterns = [
    path("", index, name="settings-sessions"),
    path("end/", end_others, name="settings-sessions-end"),
    path("<uuid:id>/end/", end, name="settings-session-end"),
]
