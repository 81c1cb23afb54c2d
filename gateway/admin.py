"""The admin site as a whole, and agents and tenants in it.

unfold's pages run Alpine, which evaluates the expressions in their attributes, and carry style elements and
attributes. So inside /admin/, and only there, script-src gains 'unsafe-eval' and style-src 'unsafe-inline';
inline scripts and other hosts stay forbidden there too.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from csp.decorators import csp_update
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.admin.widgets import AutocompleteMixin
from django.contrib.auth.models import Group
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.admin import ModelAdmin

from gateway.budgets import admin as budgets_admin
from gateway.models import Agent, ModelProvider, ModelSettings
from gateway.providers.routing.settings import recorded as routing_recorded
from gateway.providers.routing.settings.admin_forms import ModelSettingsForm, ProviderForm
from gateway.runs.agents import changes as agent_changes
from gateway.runs.agents import fields as agent_fields
from gateway.runs.agents import versions as agent_versions
from gateway.runs.agents.queries import create_tenant
from gateway.runs.errors import DefaultAgent
from gateway.schedules import admin as schedules_admin
from tenants.admin.people import MembershipInline
from tenants.errors import Refused
from tenants.login import sessions
from tenants.login.authentication import SIGN_ON_IN_SESSION, has_second_factor
from tenants.login.pages import counted_password_change
from tenants.models import Tenant
from tenants.people import changes, recorded
from tenants.recorded_admin import RecordedAdmin
from tenants.tenant_filter import BY_TENANT, WITHOUT_TENANT

# Registered by being imported.
__all__ = ["budgets_admin", "schedules_admin"]

ADMIN_CSP = {"script-src": ["'unsafe-eval'"], "style-src": ["'unsafe-inline'"]}
_strict_view = admin.site.admin_view
_optgroups = AutocompleteMixin.optgroups


def admin_view(view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
    """Django's guard around each admin view, with the policy that unfold's pages need."""

    def sound(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        # Django's admin looks for a field with this name, and fails.
        if "" in (request.GET.get(TO_FIELD_VAR), request.POST.get(TO_FIELD_VAR)):
            raise BadRequest("_to_field names no field.")
        if SIGN_ON_IN_SESSION in request.session:
            raise PermissionDenied("A tenant's single sign-on opens no admin. Operators log in with their password.")
        if settings.TOOLGATE_OPERATOR_SECOND_FACTOR and not has_second_factor(request):
            return redirect("settings-second-factor")
        if request.user.is_authenticated:
            sessions.used(request)
        with changes.acting(request.user.pk, "admin"):
            return view(request, *args, **kwargs)

    return csp_update(ADMIN_CSP)(_strict_view(wraps(view)(sound), cacheable))


def log_in(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    """There is one log-in page, and it counts attempts; who is logged in and no operator gets 403."""
    if request.user.is_authenticated:
        raise PermissionDenied("The admin is for operators of this Toolgate. You are logged in as someone else.")
    target = request.GET.get("next", "/admin/")
    return redirect_to_login(target, settings.LOGIN_URL)


def optgroups(widget: Any, name: str, value: list[str], attr: Any = None) -> Any:
    """A refused form's choices of a related row; Django's own fails where what was sent is no key at all."""
    key = widget.field.remote_field.model._meta.pk

    def sound(each: str) -> bool:
        try:
            key.to_python(each)
        except ValidationError:
            return False
        return True

    return _optgroups(widget, name, [each for each in value if not each or sound(each)], attr)


AutocompleteMixin.optgroups = optgroups  # type: ignore
admin.site.admin_view = admin_view  # type: ignore[method-assign, assignment]
admin.site.login = log_in  # type: ignore[method-assign]
admin.site.password_change = counted_password_change(admin.site.password_change)  # type: ignore
admin.site.unregister(Group)


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    """An agent, as owners make and change them: through the same checks."""

    def clean(self) -> dict[str, Any]:
        """Refuses what makes no agent, and a tenant without a default one."""
        cleaned: dict[str, Any] = super().clean() or {}
        tenant = self.instance.tenant if self.instance.pk and self.instance.tenant_id else cleaned.get("tenant")
        given = cleaned["said"] = {name: cleaned[name] for name in agent_versions.FIELDS if name in cleaned}
        # What an empty field of JSON means.
        given |= {name: given[name] or [] for name in ("tools", "pinned_tools") if name in given}
        stored = Agent.objects.filter(pk=self.instance.pk).first()
        try:
            if stored is None:
                agent_fields.slug(cleaned.get("slug"))
            elif stored.is_default and not given.get("is_default", True):
                raise DefaultAgent
            if tenant is not None:
                agent_fields.read(tenant.pk, given, stored)
        except Refused as refused:
            self.add_error(refused.field if refused.field in self.fields else None, refused.detail)
        return cleaned


@admin.register(Agent)
class AgentAdmin(ModelAdmin):
    """Agents: a tenant's profiles for its chats. Each change is a version, as it is for owners."""

    form = AgentForm
    list_display = ("slug", "tenant", "name", "model", "max_tier", "is_default", "version", "archived_at")
    list_filter = (BY_TENANT, "is_default", "max_tier")
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("slug", "name")
    autocomplete_fields = ("tenant",)
    readonly_fields = ("version", "archived_at", "created_at")
    actions = ("archive", "take_back")

    def get_readonly_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """Rules and the record name an agent by its slug: it stays."""
        return (*self.readonly_fields, *(("tenant", "slug") if obj else ()))

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        """What owners' pages and REST do."""
        said = form.cleaned_data["said"]
        if change:
            saved = agent_changes.change(obj.tenant_id, obj.slug, said)
        else:
            saved = agent_changes.add(obj.tenant_id, said | {"slug": obj.slug})
        obj.pk, obj.version = saved.pk, saved.version
        obj._state.adding = False

    def has_delete_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        """Never: an agent is archived, so that nobody takes another one for it."""
        return False

    @admin.action(description="Archive the chosen agents")
    def archive(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        """Nothing begins with them any more; a tenant's default one stays."""
        self._archived(request, queryset, True)

    @admin.action(description="Take the chosen agents back")
    def take_back(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        """Runs begin with them again."""
        self._archived(request, queryset, False)

    def _archived(self, request: HttpRequest, queryset: QuerySet[Agent], archived: bool) -> None:
        for agent in queryset:
            try:
                agent_changes.change(agent.tenant_id, agent.slug, {}, archived=archived)
            except Refused as refused:
                self.message_user(request, f"{agent.slug}: {refused.detail}", messages.ERROR)


class _OfModels(RecordedAdmin):
    """Rows of tenants and, without a tenant, of the operator, which no tenant's record is about."""

    autocomplete_fields = ("tenant",)
    list_select_related = ("tenant",)

    def said(self, row: ModelProvider | ModelSettings) -> Iterable[changes.Said]:
        """As over REST."""
        found = routing_recorded.said(row)
        return [] if found is None else [found]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Whose it is, and what its models are named by, is said once."""
        fixed = ("tenant", "slug") if isinstance(obj, ModelProvider) else ("tenant",)
        return (*self.readonly_fields, *fixed) if obj is not None else tuple(self.readonly_fields)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """With another version, by which processes know that it changed."""
        if change:
            obj.version += 1
        obj.updated_at = timezone.now()
        super().save_model(request, obj, form, change)


@admin.register(ModelProvider)
class ModelProviderAdmin(_OfModels):
    """Providers of models: the operator's, and those of tenants' own."""

    form = ProviderForm
    list_display = ("slug", "tenant", "kind", "base_url", "enabled", "problem")
    list_filter = (BY_TENANT, WITHOUT_TENANT, "kind", "enabled")
    list_filter_submit = True
    search_fields = ("slug", "base_url")
    fields = ("tenant", "slug", "kind", "base_url", "new_key", "listed", "enabled", "problem", "updated_at")
    readonly_fields = ("problem", "updated_at")


@admin.register(ModelSettings)
class ModelSettingsAdmin(_OfModels):
    """Which models are allowed, their fallbacks and prices: the operator's, and what tenants say."""

    form = ModelSettingsForm
    list_display = ("__str__", "tenant", "allowed", "updated_at")
    list_filter = (BY_TENANT, WITHOUT_TENANT)
    list_filter_submit = True
    fields = ("tenant", "allowed", "fallbacks", "prices", "updated_at")
    readonly_fields = ("updated_at",)


@admin.register(Tenant)
class TenantAdmin(RecordedAdmin):
    """Tenants, with their members."""

    list_display = ("slug", "name", "created_at")
    search_fields = ("slug", "name")
    readonly_fields = ("created_at",)
    inlines = (MembershipInline,)

    def said(self, row: Tenant) -> Iterable[changes.Said]:
        """What is said of a tenant."""
        return [recorded.TENANT.of(row)]

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        """A new tenant gets its default agent, as on the command line."""
        if not change:
            made = create_tenant(slug=obj.slug, name=obj.name)
            obj.id, obj.created_at = made.id, made.created_at
            obj._state.adding = False
        super().save_model(request, obj, form, True)

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """Never: its calls and its ledger outlive any wish to tidy up."""
        return False
