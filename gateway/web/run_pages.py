"""A run's timeline: a page, and the part of it that a run under way brings anew."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from audit.history import reads
from gateway.web import timeline
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.models import User


@require_safe
@signed_in
def run_timeline(request: SignedInRequest, run_id: uuid.UUID) -> HttpResponse:
    """A run's time as a picture; another's is 404, but for auditors and owners. htmx is answered with the picture."""
    principal = request.principal
    drawn = timeline.read(principal, run_id)
    if drawn is None:
        raise Http404
    reads.record(
        reader_id=principal.user_id,
        shown={(principal.tenant_id, drawn.user_id): drawn.calls},
        action=reads.Action.RUN,
        via="page",
        filters={"run": run_id},
    )
    context = {"drawn": drawn, "username": principal.username}
    if not drawn.own:
        found = User.objects.filter(id=drawn.user_id).values_list("username", flat=True).first()
        context["username"] = found or "former member"
    if request.htmx and not request.htmx.history_restore_request:  # type: ignore[attr-defined]
        response = render(request, "runs/timeline.html", context)
    else:
        response = render(request, "runs/run.html", context | frame(request, "history"))
    patch_vary_headers(response, ["HX-Request"])
    return response
