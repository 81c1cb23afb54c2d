"""`/settings/people/`: members and invitations."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.me.frame import section_frame
from tenants.members import invitations, memberships
from tenants.members.errors import NoSuchInvitation, NoSuchMember
from tenants.models import Membership, Role

PAGE = "settings-people"
ROLES = [
    ("member", "Member: chats, and sees their own history"),
    ("approver", "Approver: also decides about others' requests"),
    ("auditor", "Auditor: also reads everybody's history"),
    ("owner", "Owner: everything"),
]
# The page shows so many; the API has all.
_MOST = 500


class InviteForm(forms.Form):
    """Whom to invite, as what."""

    email = forms.CharField(max_length=254, required=False)
    role = forms.ChoiceField(choices=ROLES)
    days = forms.ChoiceField(choices=[("1", "in a day"), ("7", "in a week"), ("30", "in 30 days")])


class _RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def index(request: SignedInRequest) -> HttpResponse:
    """The members, and a form that invites; the link is on the page that follows and nowhere else."""
    section_frame(request, "people")
    form = InviteForm(request.POST if request.method == "POST" else None, initial={"days": "7"})
    if not form.is_valid():
        return _page(request, form, status=400 if form.is_bound else 200)
    given = form.cleaned_data
    try:
        made, link = invitations.make(
            request.principal.tenant_id,
            request.principal.user_id,
            role=given["role"],
            email=given["email"],
            days=int(given["days"]),
        )
    except Refused as refused:
        form.add_error("email" if refused.field == "email" else None, refused.detail)
        return _page(request, form, status=refused.status)
    return _page(request, InviteForm(initial={"days": "7"}), made=made, link=link)


@require_POST
@signed_in
def change_role(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Give a member another role."""
    present, form = _member(request, id), _RoleForm(request.POST)
    if not form.is_valid():
        return _page(request, InviteForm(), status=400, refusal="Choose one of the roles.")
    role = form.cleaned_data["role"]
    try:
        memberships.change_role(request.principal.tenant_id, id, role)
    except Refused as refused:
        return _page(request, InviteForm(), status=refused.status, refusal=refused.detail)
    messages.success(request, f"{present.user.username} is {_article(role)} now.")
    # Who gives their own role up sees no members any more.
    return redirect(PAGE if role == "owner" or id != request.principal.user_id else "settings")


@require_POST
@signed_in
def remove(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """Remove a member."""
    present = _member(request, id)
    try:
        memberships.remove(request.principal.tenant_id, id)
    except Refused as refused:
        return _page(request, InviteForm(), status=refused.status, refusal=refused.detail)
    messages.success(request, f"{present.user.username} is removed. Their keys and sessions here have ended.")
    return redirect(PAGE if id != request.principal.user_id else "chat")


@require_POST
@signed_in
def revoke(request: SignedInRequest, id: uuid.UUID) -> HttpResponse:
    """End an invitation."""
    section_frame(request, "people")
    try:
        invitations.revoke(request.principal.tenant_id, id)
    except NoSuchInvitation:
        raise Http404 from None
    messages.success(request, "The invitation is revoked.")
    return redirect(PAGE)


def _member(request: SignedInRequest, id: uuid.UUID) -> Membership:
    """A member, for owners. Raises PermissionDenied, Http404."""
    section_frame(request, "people")
    found = memberships.seen_by(request.principal).filter(user_id=id).first()
    if found is None:
        raise Http404(NoSuchMember().detail)
    return found


def _article(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"


def _page(request: SignedInRequest, form: forms.Form, *, status: int = 200, **more: Any) -> HttpResponse:
    principal = request.principal
    shown = {
        "members": memberships.seen_by(principal).order_by("user__username")[:_MOST],
        "count": memberships.seen_by(principal).count(),
        "invitations": invitations.open_ones(principal.tenant_id).select_related("created_by")[:_MOST],
        "roles": ROLES,
        "names": [(value, label) for value, label in Role.choices],
        "form": form,
    }
    return render(
        request, "settings/people/people.html", section_frame(request, "people") | shown | more, status=status
    )


urlpatterns = [
    path("", index, name=PAGE),
    path("<uuid:id>/role/", change_role, name="settings-person-role"),
    path("<uuid:id>/remove/", remove, name="settings-person-remove"),
    path("invitations/<uuid:id>/revoke/", revoke, name="settings-invitation-revoke"),
]
