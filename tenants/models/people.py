"""People, what they are in which tenant, and how they come and go."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models

from tenants.models.tenant import Tenant

# The text search configurations that every PostgreSQL 16 comes with; "simple" takes words as they are.
LANGUAGES = (
    *("simple", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french"),
    *("german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian"),
    *("portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)


class Role(models.TextChoices):
    """What a member may do in a tenant; `tenants.people.principal` gives each role its scopes."""

    MEMBER = "member"
    APPROVER = "approver"
    AUDITOR = "auditor"
    OWNER = "owner"


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
