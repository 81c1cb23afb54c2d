"""The admin site as a whole, and agents and tenants in it.

unfold's pages run Alpine, which evaluates the expressions in their attributes, and carry style elements and
attributes. So inside /admin/, and only there, script-src gains 'unsafe-eval' and style-src 'unsafe-inline';
inline scripts and other hosts stay forbidden there too.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.admin.widgets import AutocompleteMixin
from django.contrib.auth.models import Group
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from unfold.admin import ModelAdmin

from gateway.models import Agent
from gateway.runs.agents import create_tenant
from tenants.admin import MembershipInline
from tenants.login.pages import counted_password_change
from tenants.models import Tenant

ADMIN_CSP = {"script-src": ["'unsafe-eval'"], "style-src": ["'unsafe-inline'"]}
_strict_view = admin.site.admin_view
_optgroups = AutocompleteMixin.optgroups


def admin_view(view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
    """Django's guard around each admin view, with the policy that unfold's pages need."""

    def sound(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        # Django's admin looks for a field with this name, and fails.
        if "" in (request.GET.get(TO_FIELD_VAR), request.POST.get(TO_FIELD_VAR)):
            raise BadRequest("_to_field names no field.")
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


@admin.register(Agent)
class AgentAdmin(ModelAdmin):
    """Agents: a tenant's profiles for its chats."""

    list_display = ("slug", "tenant", "name", "model", "max_tier", "on_refused_approval", "is_default")
    list_filter = ("tenant", "is_default", "max_tier")
    list_select_related = ("tenant",)
    search_fields = ("slug", "name")
    autocomplete_fields = ("tenant",)
    readonly_fields = ("created_at",)


@admin.register(Tenant)
class TenantAdmin(ModelAdmin):
    """Tenants, with their members."""

    list_display = ("slug", "name", "created_at")
    search_fields = ("slug", "name")
    readonly_fields = ("created_at",)
    inlines = (MembershipInline,)

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
