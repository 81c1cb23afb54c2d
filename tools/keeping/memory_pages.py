"""`/memories/`: what models remember about the viewer and for their tenant, to read, find and delete."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tools.keeping import memories
from tools.keeping.frame import framed, paged
from tools.models import Memory


@require_safe
@signed_in
def memory_list(request: SignedInRequest) -> HttpResponse:
    """What is remembered, newest first or what `?q=` finds; `?scope=` and `?tag=` narrow it."""
    query = request.GET.get("q", "").strip()[: memories.LONGEST_QUERY]
    tag = request.GET.get("tag", "").replace("\0", "")
    scope = request.GET.get("scope", "")
    scope = scope if scope in Memory.Scope.values else ""
    context: dict[str, Any] = {"query": query, "tag": tag, "scope": scope}
    if query:
        shown = memories.search(query)
        context["found"] = len(shown)
    else:
        context["rows"] = paged(request, memories.visible(request.principal, scope=scope, tag=tag))
        shown = list(context["rows"])
    names = memories.authors(shown)
    context["entries"] = [
        {
            "memory": memory,
            "author": names.get(memory.author_id, "somebody who is not in the tenant any more"),
            "own": memory.author_id == request.principal.user_id,
            "deletable": memories.deletable(request.principal, memory),
        }
        for memory in shown
    ]
    return render(request, "keeping/memories.html", framed(request, "memories") | context)


@require_POST
@signed_in
def delete_memory(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Delete one; who may not is told who may."""
    try:
        if not memories.delete(request.principal, id):
            raise Http404
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
    else:
        messages.success(request, "Deleted. Models are not given it any more.")
    return redirect("memories")


urlpatterns = [
    path("memories/", memory_list, name="memories"),
    path("memories/<uuid:id>/delete/", delete_memory, name="memory-delete"),
]
