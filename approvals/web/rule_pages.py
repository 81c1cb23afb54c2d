"""A tenant's rules as pages: the list for whoever may read it, and for owners a form that tries before it saves."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from approvals.errors import NoSuchRule
from approvals.models import ApprovalRule
from approvals.rules import changes, dry_run, rulebook
from approvals.rules.changes import LONGEST, MAX_NAME, MAX_USES, NewRule
from approvals.rules.condition_field import ConditionField
from approvals.rules.evaluation import EVERY_TOOL
from audit.canonical import sha256_hex
from services import queries
from tenants.errors import Refused
from tenants.login.access import SignedInRequest, signed_in
from tenants.login.pages import frame
from tenants.models import Role, User
from tools.registry import registry

MOST = 200
PEOPLE = 200


class RuleForm(forms.Form):
    """A rule as an owner types it."""

    name = forms.CharField(max_length=MAX_NAME)
    effect = forms.ChoiceField(choices=[("approve", "Approve"), ("deny", "Deny")])
    tool = forms.ChoiceField(
        choices=lambda: [
            *((each, each) for each in (*registry().names(listed=True), *queries.names())),
            (EVERY_TOOL, "Any tool"),
        ]
    )
    user = forms.CharField(required=False, max_length=150)
    role = forms.ChoiceField(required=False, choices=[("", "Any role"), *Role.choices])
    agent = forms.CharField(required=False, max_length=50)
    condition = ConditionField(required=False)
    uses_left = forms.IntegerField(required=False, min_value=1, max_value=MAX_USES)
    days = forms.IntegerField(required=False, min_value=1, max_value=LONGEST.days - 1)
    # What was tried, so that nothing else is saved.
    tried = forms.CharField(required=False)

    def wanted(self) -> NewRule:
        """The rule that was typed."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in ("days", "tried")}
        days = self.cleaned_data["days"]
        return NewRule(**given, expires_at=datetime.now(UTC) + timedelta(days=days) if days else None)

    def fingerprint(self) -> str:
        """Equal for forms that say the same."""
        return sha256_hex({name: value for name, value in self.cleaned_data.items() if name != "tried"})


@require_safe
@signed_in
def rules(request: SignedInRequest) -> HttpResponse:
    """The tenant's rules, newest first."""
    if "approvals:read" not in request.principal.scopes:
        raise PermissionDenied("Rules are for approvers, auditors and owners to read, and you are a member.")
    found = list(rulebook.visible()[: MOST + 1])
    context = frame(request, "approvals") | {
        "rules": [_shown(rule) for rule in found[:MOST]],
        "more": len(found) > MOST,
        "may_change": "admin" in request.principal.scopes,
    }
    return render(request, "approvals/rules/rules.html", context)


def _shown(rule: ApprovalRule) -> dict[str, Any]:
    state = rulebook.state_of(rule)
    tone = {rulebook.IN_FORCE: "good", "ownerless": "wait", "outdated": "wait"}.get(state, "")
    return {"body": rulebook.body(rule), "words": rulebook.STATES[state], "tone": tone}


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new(request: SignedInRequest) -> HttpResponse:
    """The form of a new rule; a POST tries it, and saves it when exactly this was tried before."""
    _require_owner(request)
    form = RuleForm(request.POST if request.method == "POST" else None)
    context = frame(request, "approvals") | {"form": form, "most": dry_run.MOST_CALLS}
    if form.is_valid():
        principal, wanted, fingerprint = request.principal, form.wanted(), form.fingerprint()
        try:
            if form.cleaned_data["tried"] == fingerprint:
                changes.add(principal.tenant_id, principal.user_id, wanted)
                return redirect("approval-rules")
            rule, warnings = changes.check(principal.tenant_id, principal.user_id, wanted)
            found = dry_run.run(rule).body()
            context |= {"found": found, "rule": rule, "warnings": warnings, "fingerprint": fingerprint}
        except Refused as refusal:
            field = {"expires_at": "days"}.get(refusal.field or "", refusal.field)
            form.add_error(field if field in form.fields else None, refusal.detail)
    context["people"] = User.objects.order_by("username").values_list("username", flat=True)[:PEOPLE]
    return render(request, "approvals/rules/new.html", context, status=400 if form.errors else 200)


@require_POST
@signed_in
def switch_off(request: SignedInRequest, rule_id: uuid.UUID) -> HttpResponse:
    """From now on the rule decides nothing."""
    _require_owner(request)
    try:
        changes.change(request.principal.tenant_id, request.principal.user_id, rule_id, {"enabled": False})
    except NoSuchRule:
        raise Http404 from None
    return redirect("approval-rules")


def _require_owner(request: SignedInRequest) -> None:
    if "admin" not in request.principal.scopes:
        raise PermissionDenied("Only owners of your tenant make and change rules.")


urlpatterns = [
    path("", rules, name="approval-rules"),
    path("new/", new, name="approval-rule-new"),
    path("<uuid:rule_id>/off/", switch_off, name="approval-rule-off"),
]
