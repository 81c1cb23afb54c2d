"""`/settings/retention/`: how long the tenant keeps the payloads of calls."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods

from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tenants.models import Tenant
from tenants.people import settings
from tenants.people.settings import LONGEST_DAYS

PAGE = "settings-retention"


class RetentionForm(forms.Form):
    """After how many days payloads are erased; empty: never."""

    days = forms.IntegerField(min_value=1, max_value=LONGEST_DAYS, required=False)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """Say how long payloads are kept; whoever shortens that is asked who they are."""
    context: dict[str, Any] = section_frame(request, "retention")
    tenant = Tenant.objects.get(id=request.principal.tenant_id)
    form = RetentionForm(request.POST if request.method == "POST" else None, initial={"days": tenant.retention_days})
    if form.is_valid():
        days = form.cleaned_data["days"]
        settings.change(tenant.pk, retention_days=days)
        kept = f"for {days} day{'s' if days > 1 else ''}" if days else "for ever"
        messages.success(request, f"Payloads are kept {kept} now.")
        return redirect(PAGE)
    context |= {"form": form, "tenant": tenant}
    return render(request, "settings/retention.html", context, status=400 if form.is_bound else 200)


urlpatterns = [path("", index, name=PAGE)]
