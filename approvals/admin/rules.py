"""Rules in the admin: made after a look at what they would have done, switched off, and never deleted."""

import uuid
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from approvals.admin.refused import ShowsRefusals
from approvals.models import ApprovalRule
from approvals.rules import changes as rule_changes
from approvals.rules import dry_run, rulebook
from approvals.rules.changes import CHANGEABLE, NewRule
from approvals.rules.condition_field import ConditionField
from approvals.rules.evaluation import EVERY_TOOL
from audit.templatetags.audit_text import pretty
from services import queries
from tenants.errors import Refused
from tenants.tenant_filter import BY_TENANT
from tools.registry import registry

NEW = ["tenant", "name", "effect", "tool_name", "user", "role", "agent", "condition", "uses_left", "expires_at"]
LABELS = {
    rulebook.IN_FORCE: "success",
    "off": "info",
    "expired": "info",
    "used_up": "info",
    "ownerless": "warning",
    "outdated": "warning",
}


def _tools() -> list[tuple[str, str]]:
    names = dict.fromkeys((*registry().names(listed=True), *queries.names()))
    return [*((name, name) for name in names), (EVERY_TOOL, "every tool (to deny)")]


class NewRuleForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new rule, checked as over REST; who makes it is its owner."""

    owner_id: uuid.UUID
    tool_name = forms.ChoiceField(label="Tool", choices=_tools, widget=UnfoldAdminSelectWidget)
    condition = ConditionField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false"}),
        help_text='A JSON Schema, such as {"properties": {"to": {"const": "bob@example.com"}}, "required": ["to"]}; '
        "empty: any arguments.",
    )

    class Meta:
        model = ApprovalRule
        fields = NEW

    def clean(self) -> dict[str, Any]:
        """Refuse what the service refuses, beside the field at fault."""
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        user = cleaned["user"]
        given = {name: cleaned[name] for name in NEW if name not in ("tenant", "tool_name", "user")}
        self.wanted = NewRule(tool=cleaned["tool_name"], user=str(user.pk) if user else "", **given)
        try:
            self.rule, self.warnings = rule_changes.check(cleaned["tenant"].pk, self.owner_id, self.wanted)
        except Refused as refusal:
            field = "tool_name" if refusal.field == "tool" else refusal.field
            self.add_error(field, refusal.detail)
        return cleaned


@admin.register(ApprovalRule)
class ApprovalRuleAdmin(ShowsRefusals):
    """Every tenant's rules; one that approves is made and changed by an owner of its tenant."""

    list_display = (
        "name",
        "tenant",
        "effect",
        "tool_name",
        "state",
        "user",
        "role",
        "agent",
        "uses_left",
        "expires_at",
    )
    list_filter = (BY_TENANT, "effect", "enabled")
    list_filter_submit = True
    list_select_related = ("tenant", "user")
    search_fields = ("name", "tool_name", "user__username")
    autocomplete_fields = ("tenant", "user")
    actions: Any = ("switch_off",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApprovalRule]:
        """With all that tells whether a rule is in force."""
        return rulebook.visible()

    def get_form(
        self, request: HttpRequest, obj: ApprovalRule | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """A new rule is checked as a whole."""
        form = super().get_form(request, obj, change, **({} if obj else {"form": NewRuleForm}), **kwargs)
        form.owner_id = request.user.pk
        return form

    def get_fields(self, request: HttpRequest, obj: ApprovalRule | None = None) -> list[str]:
        """What a new rule is made of, or what is known of an old one."""
        if obj is None:
            return NEW
        about = ["about" if name == "condition" else name for name in NEW if name not in CHANGEABLE]
        return [*CHANGEABLE, "state", *about, "owner", "created_at", "updated_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: ApprovalRule | None = None) -> list[str]:
        """What a rule is about never changes."""
        return [] if obj is None else [name for name in self.get_fields(request, obj) if name not in CHANGEABLE]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """The form, then what the rule would have done, and only then the rule."""
        if request.method == "POST" and "confirmed" not in request.POST and self.has_add_permission(request):
            form = self.get_form(request)(request.POST)
            if form.is_valid():
                return self._preview(request, form)
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | buttons)

    def _preview(self, request: HttpRequest, form: Any) -> HttpResponse:
        lists = (each for each in request.POST.lists() if each[0] != "csrfmiddlewaretoken")
        given = [(name, value) for name, values in lists for value in values]
        context = {
            **self.admin_site.each_context(request),
            "title": "What this rule would have done",
            "opts": self.opts,
            "rule": form.rule,
            "found": dry_run.run(form.rule).body(),
            "most": dry_run.MOST_CALLS,
            "warnings": form.warnings,
            "given": given,
        }
        return TemplateResponse(request, "admin/approvals/approvalrule/preview.html", context)

    def save_model(self, request: HttpRequest, obj: ApprovalRule, form: Any, change: bool) -> None:
        """Through the service, in the operator's own name."""
        owner = cast(uuid.UUID, request.user.pk)
        if change:
            changes = {name: form.cleaned_data[name] for name in form.changed_data}
            rule_changes.change(obj.tenant_id, owner, obj.id, changes)
        else:
            made, _ = rule_changes.add(obj.tenant_id, owner, form.wanted)
            obj.__dict__ |= made.__dict__

    def has_delete_permission(self, request: HttpRequest, obj: ApprovalRule | None = None) -> bool:
        """Never: a rule that is switched off stays, so that what it let through can be explained."""
        return False

    @admin.action(description="Switch off the chosen rules")
    def switch_off(self, request: HttpRequest, queryset: QuerySet[ApprovalRule]) -> None:
        """From now on these rules decide nothing."""
        chosen = list(queryset.filter(enabled=True))
        for rule in chosen:
            rule_changes.change(rule.tenant_id, cast(uuid.UUID, request.user.pk), rule.id, {"enabled": False})
        self.message_user(request, f"{len(chosen)} switched off.", messages.SUCCESS)

    @display(description="state", label=LABELS)  # type: ignore[untyped-decorator]
    def state(self, rule: ApprovalRule) -> tuple[str, str]:
        """Whether it is in force, or why not."""
        state = rulebook.state_of(rule)
        return state, rulebook.STATES[state]

    @admin.display(description="condition")
    def about(self, rule: ApprovalRule) -> str:
        """The condition as JSON."""
        shown = "any arguments" if rule.condition is None else pretty(rule.condition)
        return format_html('<pre class="whitespace-pre-wrap break-words font-mono text-xs">{}</pre>', shown)
