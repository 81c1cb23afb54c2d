"""The approval queue in the admin: every tenant's requests, to be read and decided, and never to be changed."""

import uuid
from collections.abc import Iterable
from typing import Any, cast

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.timesince import timesince
from unfold.admin import TabularInline
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget

from approvals.admin import rules  # noqa: F401 (it registers itself)
from approvals.admin.filters import AgeFilter, StatusFilter, ToolFilter, UserFilter
from approvals.models import ApprovalDecision, ApprovalRequest
from approvals.requests import decisions, queue
from approvals.requests.decisions import MAX_REASON, Decider
from audit.admin.calls import ReadOnlyAdmin
from audit.templatetags.audit_text import pretty, visible
from tenants.errors import Refused
from tenants.tenant_filter import BY_TENANT

LABELS = {"approved": "success", "denied": "danger", "pending": "warning"}
# Whoever decides has to be able to read what they decide.
MOST_AT_ONCE = 50
# What only a request's own page shows.
HEAVY = ["context"]


class ReasonForm(forms.Form):
    """What an approver may say beside their verdict."""

    reason = forms.CharField(
        required=False,
        max_length=MAX_REASON,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Optional; when you deny, the model is told it.",
    )


class DecisionInline(TabularInline):
    """Who decided what about a request."""

    model = ApprovalDecision
    extra = 0
    fields = readonly_fields = ("created_at", "user", "verdict", "words", "via", "changes")
    verbose_name_plural = "Decisions"
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApprovalDecision]:
        """Oldest first, with names."""
        decided: QuerySet[ApprovalDecision] = super().get_queryset(request)
        return decided.select_related("user").order_by("id")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    @admin.display(description="reason")
    def words(self, decision: ApprovalDecision) -> str:
        """The reason, with nothing hidden in it."""
        return visible(decision.reason)

    @admin.display(description="edited")
    def changes(self, decision: ApprovalDecision) -> str:
        """What was changed in the arguments."""
        return _sheet(pretty(decision.edit)) if decision.edit else ""


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    """Every tenant's approval requests; an operator decides those of tenants where they are approver or owner."""

    list_display = ("created_at", "tool", "state", "user", "tenant", "age", "expires_at")
    list_display_links = ("created_at", "tool")
    list_filter = (BY_TENANT, ToolFilter, UserFilter, StatusFilter, AgeFilter)
    list_filter_submit = True
    list_per_page = MOST_AT_ONCE
    list_select_related = ("tenant", "user")
    list_disable_select_all = True
    search_fields = ("id", "tool_name", "user__username")
    search_help_text = "A request's, call's or run's id, or words in the tool's name or the username"
    ordering = ("-id",)
    actions: Any = ("approve_chosen", "deny_chosen")
    inlines = (DecisionInline,)
    change_form_outer_before_template = "admin/approvals/approvalrequest/decide.html"
    fieldsets = (
        (None, {"fields": ["id", "tool", "outcome", "tier", "why", "tenant", "user", "agent", "given"]}),
        ("Arguments", {"fields": ["arguments", "edited"]}),
        ("What led up to it", {"fields": ["story"]}),
        ("Time", {"fields": ["created_at", "expires_at", "decided_at", "usable_until", "used_at"]}),
        ("Place", {"fields": ["call_id", "run_id", "conversation_id"]}),
        ("Bound to", {"fields": ["schema_hash", "params_hash"]}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApprovalRequest]:
        """With each call's arguments, except in the list."""
        match = request.resolver_match
        if match and match.url_name == "approvals_approvalrequest_changelist" and request.method == "GET":
            return ApprovalRequest.objects.defer(*HEAVY)
        return queue.visible().select_related("tenant", "user")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ApprovalRequest], search_term: str
    ) -> tuple[QuerySet[ApprovalRequest], bool]:
        """An id is looked up; anything else is searched for as it stands."""
        words = search_term.strip()
        if not words or "\x00" in words:
            return queryset.none() if words else queryset, False
        try:
            identity = uuid.UUID(words)
        except ValueError:
            return queryset.filter(Q(tool_name__icontains=words) | Q(user__username__icontains=words)), False
        return queryset.filter(Q(id=identity) | Q(call_id=identity) | Q(run_id=identity)), False

    # --- deciding ----------------------------------------------------------------------------------------------------
    def get_urls(self) -> list[Any]:
        """The admin's own, and where the buttons of a request's page lead."""
        decide = self.admin_site.admin_view(self.decide)
        return [
            path("<uuid:request_id>/decide/", decide, name="approvals_approvalrequest_decide"),
            *super().get_urls(),
        ]

    @admin.action(description="Approve the chosen…", permissions=["view"])
    def approve_chosen(self, request: HttpRequest, queryset: QuerySet[ApprovalRequest]) -> HttpResponse | None:
        """Ask once more, with all arguments in sight; then approve."""
        return self._chosen(request, queryset, "approve")

    @admin.action(description="Deny the chosen…", permissions=["view"])
    def deny_chosen(self, request: HttpRequest, queryset: QuerySet[ApprovalRequest]) -> HttpResponse | None:
        """Ask once more, with all arguments in sight; then deny."""
        return self._chosen(request, queryset, "deny")

    def _chosen(self, request: HttpRequest, queryset: QuerySet[ApprovalRequest], verdict: str) -> HttpResponse | None:
        chosen = list(queryset[: MOST_AT_ONCE + 1])
        if len(chosen) > MOST_AT_ONCE:
            self.message_user(request, f"Choose up to {MOST_AT_ONCE} at once.", messages.ERROR)
            return None
        form = ReasonForm(request.POST if "decided" in request.POST else None)
        if form.is_valid():
            self._decide(request, chosen, verdict, form.cleaned_data["reason"])
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": f"{verdict.capitalize()} these {len(chosen)}?",
            "opts": self.opts,
            "form": form,
            "chosen": chosen,
            "verdict": verdict,
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/approvals/approvalrequest/chosen.html", context)

    def decide(self, request: HttpRequest, request_id: uuid.UUID) -> HttpResponse:
        """What the buttons of a request's own page do."""
        found = self.get_queryset(request).filter(id=request_id).first()
        verdict = request.POST.get("verdict")
        if found is None or verdict not in ("approve", "deny") or not self.has_view_permission(request):
            raise Http404
        form = ReasonForm(request.POST)
        if form.is_valid():
            self._decide(request, [found], verdict, form.cleaned_data["reason"])
        else:
            self.message_user(request, f"The reason may have up to {MAX_REASON:,} characters.", messages.ERROR)
        return redirect(reverse("admin:approvals_approvalrequest_change", args=[request_id]))

    def _decide(self, request: HttpRequest, chosen: Iterable[ApprovalRequest], verdict: str, reason: str) -> None:
        """Decide each in the operator's own name; one that is refused does not keep the others."""
        decided = 0
        operator = cast(uuid.UUID, request.user.pk)
        # A form sends its line ends as a carriage return and a line feed.
        reason = reason.replace("\r\n", "\n")
        for each in chosen:
            decider = Decider(each.tenant_id, operator, "admin")
            try:
                if verdict == "approve":
                    # Each hash is bound to the request that it was shown for; where it is missing, nothing was shown.
                    seen = request.POST.get(f"seen-{each.id}", "")
                    async_to_sync(decisions.approve)(decider, each.id, reason=reason, seen=seen)
                else:
                    async_to_sync(decisions.deny)(decider, each.id, reason=reason)
                decided += 1
            except Refused as refusal:
                name = f"{visible(each.tool_name)[:64]} for {visible(each.user.username)} in {each.tenant.slug}"
                words = f"{name}, request {each.id}: {refusal.detail}"
                self.message_user(request, words, messages.WARNING)
        if decided:
            done = "approved" if verdict == "approve" else "denied"
            self.message_user(request, f"{decided} {done}.", messages.SUCCESS)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """With the buttons while there is something to decide."""
        original = context.get("original")
        if original is not None and queue.status_of(original) == "pending":
            context |= {
                "reason": ReasonForm(),
                "decide": reverse("admin:approvals_approvalrequest_decide", args=[original.pk]),
            }
        answer: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return answer

    # --- what is shown -----------------------------------------------------------------------------------------------
    @admin.display(description="tool", ordering="tool_name")
    def tool(self, request: ApprovalRequest) -> str:
        """The tool's name."""
        return visible(request.tool_name)[:80]

    @display(description="status", label=LABELS)  # type: ignore[untyped-decorator]
    def state(self, request: ApprovalRequest) -> tuple[str, str]:
        """The status in a word."""
        status = queue.status_of(request)
        return status, status.capitalize()

    @admin.display(description="status")
    def outcome(self, request: ApprovalRequest) -> str:
        """The same without its colour."""
        return queue.status_of(request).capitalize()

    @admin.display(description="age", ordering="-id")
    def age(self, request: ApprovalRequest) -> str:
        """How long ago it was asked."""
        return timesince(request.created_at, depth=1)

    @admin.display(description="approvals")
    def given(self, request: ApprovalRequest) -> str:
        """How many of those that it needs it has."""
        return f"{len(queue.approvals(request))} of {request.approvals_needed}"

    @admin.display(description="arguments")
    def arguments(self, request: Any) -> str:
        """What the model sent, whole."""
        return _sheet(pretty(request.input))

    @admin.display(description="edited to")
    def edited(self, request: Any) -> str:
        """What an approver made of it."""
        return "" if request.approved_input is None else _sheet(pretty(request.approved_input))

    @admin.display(description="conversation")
    def story(self, request: ApprovalRequest) -> str:
        """What was said last."""
        said = [f"{_speaker(each)}: {each['text']}{_cut(each['cut'])}{_attached(each)}" for each in request.context]
        return _sheet(visible("\n\n".join(said)))


def _speaker(said: dict[str, Any]) -> str:
    return "a run, as the task" if said.get("by_person") is False else str(said["role"])


def _cut(characters: int) -> str:
    return f" … and {characters:,} more characters" if characters else ""


def _attached(said: dict[str, Any]) -> str:
    files = [each["name"] or each["media_type"] or "a picture" for each in said.get("attached", ())]
    return f" (attached: {', '.join(files)})" if files else ""


def _sheet(text: str) -> str:
    return format_html('<pre class="whitespace-pre-wrap break-words font-mono text-xs">{}</pre>', text)
