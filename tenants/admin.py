"""People, memberships and API keys in the admin."""

from collections.abc import Iterable
from typing import Any

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.idp.oidc.models import Client, Token
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.sessions.models import Session
from django.db import router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelect2Widget

from tenants.errors import Refused
from tenants.limits.changes import LIMITS
from tenants.members import invitations, memberships
from tenants.members.errors import AlreadyMember, InvalidAddress, LastOwner
from tenants.models import (
    ApiKey,
    ConfirmedDomain,
    Invitation,
    KillSwitch,
    Membership,
    RequestLimits,
    Role,
    SignOnProvider,
    User,
    UserSession,
)
from tenants.people import keys, recorded
from tenants.people.changes import Said, record_all
from tenants.people.principal import SCOPES, scopes_of
from tenants.recorded_admin import RecordedAdmin
from tenants.switches import changes as switches
from tenants.switches.changes import NewSwitch

# Of allauth: no table of these is used as its own pages use it.
for _unused in (EmailAddress, EmailConfirmation, Client, Token, Authenticator):
    if admin.site.is_registered(_unused):
        admin.site.unregister(_unused)


class MembershipFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]
    """Memberships that are edited together; a tenant that has an active owner keeps one."""

    def clean(self) -> None:
        """Refuse to demote or remove the last active owner."""
        super().clean()
        ended: dict[Any, set[Any]] = {}
        added = set()
        for form in self.initial_forms + self.extra_forms:
            given, row = getattr(form, "cleaned_data", {}), form.instance
            stays = given.get("role") == Role.OWNER and not given.get("DELETE")
            if form.initial.get("role") == Role.OWNER and not stays:
                ended.setdefault(row.tenant_id, set()).add(row.pk)
            elif stays and form.initial.get("role") != Role.OWNER and row.user_id and row.user.is_active:
                added.add(row.tenant_id)
        for tenant_id, ids in ended.items():
            if tenant_id not in added and memberships.owners(tenant_id, besides=ids) == 0:
                raise forms.ValidationError(LastOwner().detail)


class MembershipInline(TabularInline):
    """Who is in a tenant, or where a user is a member."""

    model = Membership
    formset = MembershipFormSet
    extra = 0
    autocomplete_fields = ("user", "tenant")
    readonly_fields = ("created_at",)


@admin.register(User)
class PersonAdmin(RecordedAdmin, UserAdmin):  # type: ignore[type-arg]
    """Accounts. Memberships say what they may do; a superuser operates the whole installation."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser")
    search_fields = ("username", "email")
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ["username", "password", "email"]}),
        ("Access", {"fields": ["is_active", "is_staff", "is_superuser"]}),
        ("Dates", {"fields": ["last_login", "date_joined"]}),
    )
    inlines = (MembershipInline,)

    def said(self, row: User) -> Iterable[Said]:
        """What the account is in its tenants."""
        return recorded.members(row)


class _MembershipChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.user.username} in {obj.tenant.slug} ({obj.role})"


class KeyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new key for a member."""

    membership = _MembershipChoice(queryset=Membership.objects.none(), widget=UnfoldAdminSelect2Widget)
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in sorted(frozenset().union(*SCOPES.values()))],
        required=False,
        help_text="None chosen: everything that the role allows.",
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )

    class Meta:
        model = ApiKey
        fields = ("name", "scopes", "expires_at")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        members = Membership.objects.select_related("user", "tenant").order_by("tenant__slug", "user__username")
        self.fields["membership"].queryset = members  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """A key may have no scope beyond its member's role."""
        cleaned = super().clean() or {}
        membership, scopes = cleaned.get("membership"), cleaned.get("scopes") or []
        beyond = sorted(set(scopes) - scopes_of(membership.role)) if membership else []
        if membership and beyond:
            self.add_error("scopes", f"The role {membership.role} does not allow {', '.join(beyond)}.")
        return cleaned


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):
    """Keys are made, shown once, and revoked; nothing else about them can change."""

    list_display = ("prefix", "name", "user", "tenant", "scopes", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant", "user")
    search_fields = ("prefix", "name", "user__username")
    actions = ("revoke",)

    def get_form(self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Only a new key has a form."""
        return super().get_form(request, obj, change, **({} if change else {"form": KeyForm}), **kwargs)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        """The fields of a new key, or what is known of an existing one."""
        if obj is None:
            return ["membership", "name", "scopes", "expires_at"]
        return [*self.list_display, "created_at"]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """One button; the page with the key follows it."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | buttons)

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """The list has actions; a key's own page is read-only."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Never: a revoked key stays, so that its past use can be explained."""
        return False

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Make the key; its text is stored only until the answer to this request."""
        given = form.cleaned_data
        made, request.new_key = keys.create(  # type: ignore[attr-defined]
            membership=given["membership"],
            name=given["name"],
            scopes=given["scopes"] or None,
            expires_at=given["expires_at"],
        )
        obj.__dict__ |= made.__dict__

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """The key on a page of its own: a message would leave it in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": "The new key",
            "opts": self.opts,
            "key": request.new_key,  # type: ignore[attr-defined]
            "row": obj,
        }
        response = TemplateResponse(request, "admin/tenants/apikey/made.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description="Revoke the chosen keys")
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        """Revoke these keys."""
        with transaction.atomic(using=router.db_for_write(ApiKey)):
            before = [recorded.KEY.of(key) for key in queryset.select_for_update(of=("self",)).filter(revoked_at=None)]
            revoked = ApiKey.objects.filter(pk__in=[said.target_id for said in before])
            count = revoked.update(revoked_at=timezone.now())
            after: dict[Any, Said] = {key.pk: recorded.KEY.of(key) for key in revoked.all()}
            record_all((said, after.get(said.target_id)) for said in before)
        self.message_user(request, f"{count} revoked.", messages.SUCCESS)


@admin.register(ConfirmedDomain)
class ConfirmedDomainAdmin(RecordedAdmin):
    """Whose domains are: it decides where people with such addresses log in."""

    list_display = ("domain", "tenant", "created_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    search_fields = ("domain",)
    autocomplete_fields = ("tenant",)
    fields = ("domain", "tenant")

    def said(self, row: ConfirmedDomain) -> Iterable[Said]:
        """The domain."""
        return [recorded.DOMAIN.of(row)]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Domains are compared in lower case."""
        form = super().get_form(request, obj, change, **kwargs)
        form.clean_domain = lambda filled: filled.cleaned_data["domain"].strip().lower().rstrip(".")
        return form

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> ConfirmedDomain | None:
        """None for a text that PostgreSQL knows no such of."""
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def has_change_permission(self, request: HttpRequest, obj: ConfirmedDomain | None = None) -> bool:
        """A domain is removed and confirmed anew."""
        return False


@admin.register(SignOnProvider)
class SignOnProviderAdmin(ModelAdmin):
    """What owners say of their providers, without secrets; owners change it."""

    list_display = ("domain", "tenant", "issuer", "creates_members", "enabled", "updated_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    search_fields = ("domain", "issuer")
    exclude = ("client_secret",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Owners add them."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: SignOnProvider | None = None) -> bool:
        """Owners change them."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: SignOnProvider | None = None) -> bool:
        """Owners remove them; an operator removes the confirmation of their domain."""
        return False


@admin.register(UserSession)
class UserSessionAdmin(ModelAdmin):
    """Where people are logged in; deleting one logs out there."""

    list_display = ("user", "address", "agent", "created_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    exclude = ("session_key",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """They begin with a log-in."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: UserSession | None = None) -> bool:
        """Nothing of them is for anybody to write."""
        return False

    def delete_model(self, request: HttpRequest, obj: UserSession) -> None:
        """The session itself goes, and this row with it."""
        Session.objects.filter(session_key=obj.session_key).delete()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UserSession]) -> None:
        """The same for several."""
        Session.objects.filter(session_key__in=list(queryset.values_list("session_key", flat=True))).delete()


class SwitchForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new kill switch, checked as over REST."""

    class Meta:
        model = KillSwitch
        fields = ("tenant", "kind", "target", "reason", "until")

    def clean(self) -> dict[str, Any]:
        """What would stop nothing is refused."""
        given = super().clean() or {}
        if not self.errors:
            try:
                switches.check(_tenant_of(given), _switch(given), by_operator=True)
            except Refused as refused:
                self.add_error(refused.field if refused.field in self.fields else None, refused.detail)
        return given


def _switch(given: dict[str, Any]) -> NewSwitch:
    return NewSwitch(given["kind"], given["target"], given["reason"], given["until"])


def _tenant_of(given: dict[str, Any]) -> Any:
    return given["tenant"].pk if given["tenant"] else None


@admin.register(KillSwitch)
class KillSwitchAdmin(ModelAdmin):
    """What is stopped, in every tenant: put on and ended, and never changed."""

    form = SwitchForm
    list_display = ("kind", "target", "tenant", "reason", "until", "by_operator", "set_by", "created_at")
    list_filter = ("kind", "by_operator", "tenant")
    list_select_related = ("tenant", "set_by")
    search_fields = ("target", "reason")
    autocomplete_fields = ("tenant",)

    def has_change_permission(self, request: HttpRequest, obj: KillSwitch | None = None) -> bool:
        """Another one is put on instead."""
        return False

    def save_model(self, request: HttpRequest, obj: KillSwitch, form: Any, change: bool) -> None:
        """Put it on, as the operator's."""
        given = form.cleaned_data
        obj.__dict__ |= switches.put_on(_tenant_of(given), _switch(given), by_operator=True).__dict__

    def delete_model(self, request: HttpRequest, obj: KillSwitch) -> None:
        """End it."""
        switches.end_any(obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[KillSwitch]) -> None:
        """End those that were chosen."""
        for each in queryset:
            switches.end_any(each.pk)


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new invitation; its address is read as the pages read it."""

    days = forms.IntegerField(min_value=1, max_value=invitations.LONGEST_DAYS, initial=invitations.DAYS)

    class Meta:
        model = Invitation
        fields = ("tenant", "role", "email")

    def clean(self) -> dict[str, Any]:
        """An address that the pages would take, of nobody who is a member already."""
        cleaned = super().clean() or {}
        if cleaned.get("tenant") and "email" in cleaned:
            try:
                cleaned["email"] = invitations.address_for(cleaned["tenant"].pk, cleaned["email"])
            except (InvalidAddress, AlreadyMember) as refused:
                self.add_error("email", refused.detail)
        return cleaned


@admin.register(Invitation)
class InvitationAdmin(ModelAdmin):
    """Invitations into any tenant: made, shown once, and revoked; nothing else about them can change."""

    list_display = ("tenant", "role", "email", "created_by", "created_at", "expires_at", "accepted_by", "revoked_at")
    list_filter = ("tenant", "role")
    list_select_related = ("tenant", "created_by", "accepted_by")
    search_fields = ("email",)
    actions = ("revoke",)

    def get_form(self, request: HttpRequest, obj: Invitation | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Only a new one has a form."""
        return super().get_form(request, obj, change, **({} if change else {"form": InvitationForm}), **kwargs)

    def get_fields(self, request: HttpRequest, obj: Invitation | None = None) -> list[str]:
        """The fields of a new invitation, or what is known of an existing one."""
        return ["tenant", "role", "email", "days"] if obj is None else [*self.list_display, "accepted_at"]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> Any:
        """One button; the page with the link follows it."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, (extra_context or {}) | buttons)

    def has_change_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        """The list has actions; an invitation's own page is read-only."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        """Never: one that has ended stays, so that it can be explained who came in by it."""
        return False

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        """Make it; its link is stored only until the answer to this request."""
        given = form.cleaned_data
        made, request.new_link = invitations.make(  # type: ignore[attr-defined]
            given["tenant"].pk, None, role=given["role"], email=given["email"], days=given["days"]
        )
        obj.__dict__ |= made.__dict__

    def response_add(self, request: HttpRequest, obj: Invitation, post_url_continue: str | None = None) -> HttpResponse:
        """The link on a page of its own: a message would leave it in a cookie."""
        context = {
            **self.admin_site.each_context(request),
            "title": "The new invitation",
            "opts": self.opts,
            "link": request.new_link,  # type: ignore[attr-defined]
            "row": obj,
        }
        response = TemplateResponse(request, "admin/tenants/invitation/made.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description="Revoke the chosen invitations")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        """Revoke these invitations."""
        chosen = list(queryset.values_list("tenant_id", "pk"))
        for tenant_id, invitation_id in chosen:
            invitations.revoke(tenant_id, invitation_id)
        self.message_user(request, f"{len(chosen)} can be accepted no more.", messages.SUCCESS)


@admin.register(RequestLimits)
class RequestLimitsAdmin(RecordedAdmin):
    """Requests per minute of each tenant; the ceiling is the operator's."""

    list_display = ("tenant", "per_tenant", "per_person", "per_key", "ceiling", "updated_at")
    list_select_related = ("tenant",)
    autocomplete_fields = ("tenant",)
    fields = ("tenant", "per_tenant", "per_person", "per_key", "ceiling")

    def get_readonly_fields(self, request: HttpRequest, obj: RequestLimits | None = None) -> tuple[str, ...]:
        """Whose they are is said once."""
        return ("tenant",) if obj else ()

    def said(self, row: RequestLimits) -> Iterable[Said]:
        """All of them."""
        return [LIMITS.of(row)]
