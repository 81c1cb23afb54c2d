"""`/settings/password/`: one's own password."""

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from tenants.errors import Refused
from tenants.login import sign_on
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import counted_password_change
from tenants.login.passwords import changing as passwords
from tenants.me.frame import section_frame
from tenants.models import SignOnProvider, User


class OwnPasswordForm(PasswordChangeForm):
    """Django's form, saved by the function that may write one user's password."""

    def __init__(self, user: Any, *args: Any, session: str | None, **kwargs: Any):
        super().__init__(user, *args, **kwargs)
        self._session = session
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"
        self.fields["old_password"].widget.attrs.pop("autofocus", None)

    def save(self, commit: bool = True) -> User:
        """Change the password, unless it is another one by now: then there is an error in the form."""
        user: User = self.user
        if not passwords.change(user, self.cleaned_data["new_password1"], session=self._session):
            self.add_error(None, "Your password was just changed elsewhere. Log in again.")
        return user


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@counted_password_change
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """Change the password; every other session of the user ends."""
    given = request.POST if request.method == "POST" else None
    form = OwnPasswordForm(request.user, given, session=request.session.session_key)
    if form.is_valid():
        user = form.save()
        if form.is_valid():
            update_session_auth_hash(request, user)
            messages.success(request, "Your password is changed. You are logged out everywhere else.")
            return redirect("settings-password")
    providers = SignOnProvider.objects.filter(tenant_id=request.principal.tenant_id, enabled=True)
    issuers = {row.issuer for row in sign_on.connected(request.principal.tenant_id, request.principal.user_id)}
    context = section_frame(request, "password") | {"form": form}
    context["providers"] = [(row, row.issuer in issuers) for row in providers]
    return render(request, "settings/password.html", context, status=400 if form.is_bound else 200)


@require_POST
@signed_in
def disconnect(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Log in by a provider of the tenant's no more."""
    row = SignOnProvider.objects.filter(tenant_id=request.principal.tenant_id, pk=id).first()
    if row is None:
        raise Http404
    user: Any = request.user
    try:
        sign_on.disconnect(request.principal.tenant_id, user, row.issuer)
    except Refused as refused:
        messages.error(request, refused.detail, extra_tags="bad")
    else:
        messages.success(request, f"You log in by single sign-on of {row.domain} no more.")
    return redirect("settings-password")


urlpatterns = [
    path("", index, name="settings-password"),
    path("single-sign-on/<uuid:id>/disconnect/", disconnect, name="settings-single-sign-on-disconnect"),
]
