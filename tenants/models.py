"""Tenants, the people in them, and their API keys."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.scope.jsonb import JSONField


class Role(models.TextChoices):
    """What a member may do in a tenant; `tenants.people.principal` gives each role its scopes."""

    MEMBER = "member"
    APPROVER = "approver"
    AUDITOR = "auditor"
    OWNER = "owner"


class Tenant(models.Model):
    """One customer; row-level security separates its rows from those of others."""

    class Taint(models.TextChoices):
        """What the gate `taint` does with a call that it finds."""

        OFF = "off"
        OBSERVE = "observe"
        ASK = "ask"
        DENY = "deny"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    role_ceilings = JSONField(
        default=dict,
        blank=True,
        help_text='The highest tier of tools a role may use, such as {"auditor": "read_only"}.',
    )
    default_tools = JSONField(default=list, blank=True, help_text='What "..." stands for in an agent\'s list of tools.')
    retention_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="After how many days the payloads of tool calls are erased; empty: never."
    )
    second_factor_required = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether sessions of its members need a second factor; keys never do.",
    )
    taint = models.CharField(
        max_length=8,
        choices=Taint.choices,
        default=Taint.ASK,
        db_default=Taint.ASK,
        help_text="What happens to a call that would reach outside after private data and strangers' words were read.",
    )
    operator_providers = ArrayField(
        models.CharField(max_length=32),
        null=True,
        blank=True,
        help_text="Which of the operator's providers of models it may use; empty: all of them.",
    )
    fetch_hosts = ArrayField(
        models.CharField(max_length=263),
        default=list,
        blank=True,
        help_text="Hosts that web_fetch reads without a human.",
    )
    erased_until = models.DateTimeField(null=True, editable=False, help_text="How far retention has got.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "tenants"
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class RightsVersion(models.Model):
    """The version of a tenant's rights, which triggers of the tables that say them change.

    What was read under a version holds for as long as it is the tenant's, but for what time or use ends.
    """

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, primary_key=True, related_name="+")
    version = models.UUIDField(default=uuid.uuid4)

    class Meta:
        db_table = "rights_versions"

    def __str__(self) -> str:
        return str(self.version)


# The text search configurations that every PostgreSQL 16 comes with; "simple" takes words as they are.
LANGUAGES = (
    *("simple", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french"),
    *("german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian"),
    *("portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)


class User(AbstractUser):
    """A person; one account may be a member of several tenants. A superuser operates the whole installation."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    language = models.CharField(
        max_length=16,
        choices=[(each, each) for each in LANGUAGES],
        default="english",
        db_default="english",
        help_text="The language that they write in: what they keep is found by its words in this language.",
    )
    time_zone = models.CharField(
        max_length=64, default="UTC", db_default="UTC", help_text='Where their days begin, such as "Europe/Berlin".'
    )

    class Meta:
        db_table = "users"
        ordering = ["username"]


class Membership(models.Model):
    """A user's role in a tenant; without it neither a key nor a session has access to the tenant."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.MEMBER)
    last_seen_at = models.DateTimeField(null=True, editable=False, help_text="To the hour.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "memberships"
        ordering = ["tenant", "user"]
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="memberships_tenant_user")]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role}"


class Departure(models.Model):
    """That somebody was a member of a tenant and is none any more; triggers write it.

    Until `ended_at`, what they have under way is still to be ended, also of who is a member again.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # A row of the past does not keep a tenant or an account from going.
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, db_constraint=False, related_name="+")
    left_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "departures"
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="departures_tenant_user")]
        indexes = [models.Index(fields=["left_at"], condition=models.Q(ended_at=None), name="departures_due")]

    def __str__(self) -> str:
        return f"{self.user_id} left {self.tenant_id}"


class Invitation(models.Model):
    """A link that makes somebody a member, once; stored as the SHA-256 of its 256 random bits.

    With an `email` it is for the person with that address alone. It ends when its maker is no owner any more; one
    without `created_by` is the operator's.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="invitations")
    token_hash = models.BinaryField(unique=True, editable=False)
    email = models.EmailField(blank=True)
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.MEMBER)
    created_by = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, editable=False)
    accepted_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "invitations"
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["tenant", "created_at"], name="invitations_of_tenant")]

    def __str__(self) -> str:
        return f"{self.role} in {self.tenant_id}"


class ApiKey(models.Model):
    """A bearer key of one member, stored as the SHA-256 of its 256 random bits."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=12, editable=False)
    key_hash = models.BinaryField(unique=True, editable=False)
    scopes = ArrayField(
        models.CharField(max_length=32), null=True, blank=True, help_text="Empty: everything that the role allows."
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "api_keys"
        ordering = ["-created_at"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}".strip()


class ClientGrant(models.Model):
    """That an OAuth client may act for one member of one tenant, as they agreed to; it ends with the membership."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="client_grants")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="client_grants")
    client = models.ForeignKey("allauth_idp_oidc.Client", on_delete=models.CASCADE, related_name="grants")
    scopes = ArrayField(models.CharField(max_length=32))
    resource = models.CharField(max_length=500, help_text="The only address that its tokens are good for.")
    last_used_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "client_grants"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.client_id} for {self.user_id}"


class ClientToken(models.Model):
    """What a client has of a grant: an authorization code, access or refresh token, stored as its SHA-256."""

    class Kind(models.TextChoices):
        """What the token is good for."""

        CODE = "code"
        ACCESS = "access"
        REFRESH = "refresh"

    hash = models.BinaryField(primary_key=True, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="client_tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="client_tokens")
    grant = models.ForeignKey(ClientGrant, on_delete=models.CASCADE, related_name="tokens", db_constraint=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    scopes = ArrayField(models.CharField(max_length=32))
    details = JSONField(default=dict, help_text="Of a code: where it was sent, and the challenge of its client.")
    expires_at = models.DateTimeField(db_index=True)
    spent_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "client_tokens"

    def __str__(self) -> str:
        return f"{self.kind} of {self.grant_id}"


class UserSession(models.Model):
    """Where a user is logged in: what `django_session` does not say of its row, with which it ends."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session_key = models.CharField(max_length=40, unique=True, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sessions")
    address = models.CharField(max_length=45, blank=True)
    agent = models.CharField(max_length=300, blank=True, help_text="What its browser calls itself.")
    created_at = models.DateTimeField(help_text="When its user logged in.")
    last_used_at = models.DateTimeField()

    class Meta:
        db_table = "user_sessions"
        ordering = ["-last_used_at"]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.address}"


class SignOnProvider(models.Model):
    """An OpenID provider at which people with addresses of a domain log in to a tenant; its owners say so."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="sign_on_providers")
    domain = models.CharField(max_length=253, help_text="In lower case, such as example.com; it is never changed.")
    issuer = models.CharField(max_length=500)
    client_id = models.CharField(max_length=500)
    client_secret = models.TextField(blank=True, help_text="Encrypted; empty: a public client.")
    role_claim = models.CharField(max_length=200, blank=True, help_text="The claim that says the role; empty: none.")
    roles = JSONField(
        default=list, blank=True, help_text='[{"value": "admins", "role": "owner"}, …]: the first that fits counts.'
    )
    default_role = models.CharField(
        max_length=16, choices=Role.choices, blank=True, help_text="For whom the claim names none; empty: refused."
    )
    creates_members = models.BooleanField(default=False, help_text="Whether people who are no members become such.")
    readmits_members = models.BooleanField(default=False, help_text="Whether that is so for removed members, too.")
    trusts_addresses = models.BooleanField(
        default=False, help_text="Whether an address counts that the provider does not call verified."
    )
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "sign_on_providers"
        verbose_name = "single sign-on provider"
        ordering = ["domain"]
        constraints = [models.UniqueConstraint(fields=["tenant", "domain"], name="sign_on_providers_tenant_domain")]

    def __str__(self) -> str:
        return self.domain


class ConfirmedDomain(models.Model):
    """That a domain is a tenant's: the operator says so, since it decides who logs in where."""

    domain = models.CharField(primary_key=True, max_length=253)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="domains")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "confirmed_domains"
        ordering = ["domain"]

    def __str__(self) -> str:
        return self.domain


class SignOnIdentity(models.Model):
    """Who a person is at a provider: its issuer and their subject there, never their address alone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="sign_on_identities")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_on_identities")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "sign_on_identities"
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "issuer", "subject"], name="sign_on_identities_subject"),
            models.UniqueConstraint(fields=["tenant", "issuer", "user"], name="sign_on_identities_user"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.issuer}"


class KillSwitch(models.Model):
    """Something that is stopped at once, for a tenant or, by the operator, for all of them; it ends when somebody ends
    it, or by itself at `until`."""

    class Kind(models.TextChoices):
        """What is stopped."""

        TOOL = "tool"
        SERVICE = "service"
        AGENT = "agent"
        USER = "user", "Person"
        MODEL = "model"
        TENANT = "tenant"
        EVERYTHING = "everything"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(
        Tenant, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="Empty: every tenant."
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    target = models.CharField(
        max_length=200,
        blank=True,
        help_text="A tool's name, a service's or an agent's slug, a member's id, \"provider/model\", \"provider/*\".",
    )
    reason = models.CharField(max_length=500, help_text="Whoever is stopped reads it.")
    until = models.DateTimeField(null=True, blank=True, help_text="When it ends by itself; empty: never.")
    by_operator = models.BooleanField(default=False, editable=False)
    set_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "kill_switches"
        verbose_name_plural = "kill switches"
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(tenant__isnull=False) | Q(by_operator=True), name="kill_switches_of_all_are_operators"
            ),
            # An agent and a person are of one tenant, which is a target itself.
            models.CheckConstraint(
                condition=Q(kind="everything", tenant__isnull=True)
                | Q(kind__in=["agent", "user", "tenant"], tenant__isnull=False)
                | Q(kind__in=["tool", "service", "model"]),
                name="kill_switches_where",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()


class RequestLimits(models.Model):
    """How many requests per minute a tenant's programs and people may make; empty: any number."""

    MOST = 100_000
    _BOUNDS = (MinValueValidator(1), MaxValueValidator(MOST))
    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, primary_key=True, related_name="+")
    per_tenant = models.PositiveIntegerField(
        null=True, blank=True, validators=_BOUNDS, help_text="All of them together."
    )
    per_person = models.PositiveIntegerField(null=True, blank=True, validators=_BOUNDS, help_text="Each person.")
    per_key = models.PositiveIntegerField(null=True, blank=True, validators=_BOUNDS, help_text="Each API key.")
    ceiling = models.PositiveIntegerField(
        null=True, blank=True, validators=_BOUNDS, help_text="The operator's: no limit of the tenant's is higher."
    )
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "request_limits"
        verbose_name = verbose_name_plural = "request limits"

    def __str__(self) -> str:
        return f"requests of {self.tenant_id}"
