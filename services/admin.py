"""Every tenant's services in the admin: operators read them, and change what owners can change."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from audit.templatetags.audit_text import pretty
from services import changes, recorded
from services.errors import InvalidService
from services.models import Service, ServiceTool
from tenants.people.changes import Said
from tenants.recorded_admin import RecordedAdmin
from tenants.tenant_filter import BY_TENANT

_JSON = '<pre class="whitespace-pre-wrap break-words font-mono text-xs">{}</pre>'


class ServiceForm(forms.ModelForm):  # type: ignore[type-arg]
    """What may be changed of a service, checked as over REST."""

    def clean_url(self) -> str:
        """An address that may be reached, on the host that the service's credential was given for."""
        # The form has written into its instance already.
        stored = Service.objects.get(pk=self.instance.pk)
        checked: str = self._checked("url", lambda given, at: changes.moved(stored, changes.address(given, at), False))
        return checked

    def clean_timeout(self) -> float:
        """Within the bounds of a call."""
        checked: float = self._checked("timeout", lambda given, at: changes.seconds(given))
        return checked

    def _checked(self, name: str, check: Any) -> Any:
        try:
            return check(self.cleaned_data[name], name)
        except InvalidService as refused:
            raise forms.ValidationError(refused.detail) from None


@admin.register(Service)
class ServiceAdmin(RecordedAdmin):
    """Services are added by owners; here they are switched off, and moved."""

    class Media:
        """What services say wraps, on a phone too."""

        css: ClassVar[dict[str, list[str]]] = {"all": ["css/admin.css"]}

    form = ServiceForm
    list_display = ("slug", "tenant", "kind", "url", "identity", "enabled", "snapshot_at")
    list_filter = (BY_TENANT, "kind", "enabled")
    list_filter_submit = True
    list_select_related = ("tenant",)
    search_fields = ("slug", "url")
    fields = (
        *("slug", "tenant", "kind", "enabled", "url", "timeout", "identity", "header", "description", "source_url"),
        *("operations", "about_endpoints", "about_feeds", "skill", "snapshot_at", "created_at", "updated_at"),
    )
    readonly_fields = tuple(name for name in fields if name not in ("enabled", "url", "timeout"))

    def said(self, row: Service) -> Iterable[Said]:
        """As over REST."""
        return [recorded.service(row)]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """By owners alone: what a service offers has to be read first."""
        return False

    @admin.display(description="endpoints")
    def about_endpoints(self, service: Service) -> str:
        """What its descriptor says of its API, for people."""
        return format_html(_JSON, pretty(service.endpoints))

    @admin.display(description="feeds")
    def about_feeds(self, service: Service) -> str:
        """What is put into prompts."""
        return format_html(_JSON, pretty(service.feeds))


@admin.register(ServiceTool)
class ServiceToolAdmin(RecordedAdmin):
    """What tenants say of their services' tools; definitions are their services'."""

    class Media:
        """What services say wraps, on a phone too."""

        css: ClassVar[dict[str, list[str]]] = {"all": ["css/admin.css"]}

    list_display = ("tool_name", "tenant", "enabled", "state", "tier", "idempotent", "parallel_safe", "updated_at")
    list_filter = (BY_TENANT, "enabled", "tier")
    list_filter_submit = True
    list_select_related = ("tenant", "service")
    search_fields = ("tool_name",)
    fields = (
        *("tool_name", "tenant", "service", "enabled", "state", "tier", "idempotent", "parallel_safe"),
        *("reads_private", "reads_untrusted", "leaves_tenant", "about_definition", "about_pending", "accepted_hash"),
        *("hash", "created_at", "updated_at"),
    )
    readonly_fields = (
        *("tool_name", "tenant", "service", "state", "about_definition", "about_pending", "accepted_hash", "hash"),
        *("created_at", "updated_at"),
    )

    def said(self, row: ServiceTool) -> Iterable[Said]:
        """As over REST."""
        return [recorded.tool(row)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ServiceTool]:
        """With their services."""
        found: QuerySet[ServiceTool] = super().get_queryset(request)
        return found.select_related("service", "tenant")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A service brings its tools along."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ServiceTool | None = None) -> bool:
        """A service that offers a tool would bring it back."""
        return False

    @admin.display(description="state")
    def state(self, tool: ServiceTool) -> str:
        """Whether its definition is the accepted one."""
        if not tool.hash:
            return "not offered any more"
        return "accepted" if tool.hash == tool.accepted_hash else "changed, and not accepted"

    @admin.display(description="accepted definition")
    def about_definition(self, tool: ServiceTool) -> str:
        """As the service said."""
        return format_html(_JSON, pretty(tool.definition))

    @admin.display(description="present definition")
    def about_pending(self, tool: ServiceTool) -> str:
        """What the service says now, where that is something else."""
        return format_html(_JSON, pretty(tool.pending["given"])) if tool.pending else "the accepted one"
