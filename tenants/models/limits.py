"""What is stopped, and how many requests are served."""

import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models.people import User
from tenants.models.tenant import Tenant


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
