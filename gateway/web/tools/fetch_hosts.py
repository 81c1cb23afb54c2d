"""The hosts that web_fetch reads without a human, on its page under `/settings/tools/`."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tools.fetching.hosts import InvalidHost
from tools.settings import fetch_hosts

TOOL = "web_fetch"


@require_POST
@signed_in
def change(request: SignedInRequest) -> HttpResponse:
    """Say which hosts, one a line; whoever adds one is asked who they are."""
    section_frame(request, "tools")
    try:
        stored = fetch_hosts.change(request.principal.tenant_id, request.POST.get("fetch_hosts", "").split())
    except InvalidHost as refused:
        messages.error(request, f"Nothing was changed: {refused.detail}", extra_tags="bad")
        return redirect("settings-tool", TOOL)
    count = "1 host" if len(stored) == 1 else f"{len(stored) or 'no'} hosts"
    messages.success(request, f"web_fetch reads {count} without a human now.")
    return redirect("settings-tool", TOOL)
