"""The rows of budgets and of what was used; amounts are changed by the functions of `sql/` alone."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import TIED, ApiKey, Tenant, User
from tenants.scope.jsonb import JSONField

_TENANT: dict[str, Any] = {"on_delete": models.CASCADE, "related_name": "+", "db_index": False}


class Budget(models.Model):
    """How much a tenant, one of its members, agents or keys may spend in a window of time.

    Without a user, an agent and a key it is the whole tenant's.
    """

    class Unit(models.TextChoices):
        """What is counted; a request is one request to a model."""

        USD = "usd", "US dollars"
        TOKENS = "tokens", "Tokens"
        REQUESTS = "requests", "Requests to models"

    class Window(models.TextChoices):
        """When it begins anew; days and months are those of UTC."""

        DAY = "day", "A day"
        MONTH = "month", "A month"
        TOTAL = "total", "For ever"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, **_TENANT)
    user = models.ForeignKey(User, null=True, blank=True, **_TENANT)
    agent = models.ForeignKey("gateway.Agent", models.CASCADE, null=True, blank=True, related_name="+", **TIED)
    key = models.ForeignKey(ApiKey, models.CASCADE, null=True, blank=True, related_name="+", **TIED)
    unit = models.TextField(choices=Unit.choices)
    window = models.TextField(choices=Window.choices, db_column="period")
    limit = models.DecimalField(max_digits=21, decimal_places=6, db_column="amount")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "budgets"
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "user", "agent", "key", "unit", "window"],
                name="budgets_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(limit__gte=0), name="budgets_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.limit.normalize():f} {self.unit} ({self.window})"

    @property
    def scope(self) -> tuple[str, uuid.UUID]:
        """Whose it is: "tenant", "user", "agent" or "key", and the id."""
        for name, of in (("user", self.user_id), ("agent", self.agent_id), ("key", self.key_id)):
            if of is not None:
                return name, of
        return "tenant", self.tenant_id


class BudgetWindow(models.Model):
    """What of a budget is spent and reserved in one window of time, which begins at `starts_at`."""

    pk = models.CompositePrimaryKey("budget_id", "starts_at")
    budget = models.ForeignKey(Budget, models.CASCADE, related_name="windows", **TIED)
    tenant = models.ForeignKey(Tenant, **_TENANT)
    starts_at = models.DateTimeField(help_text="1970-01-01 of a budget for ever.")
    spent = models.DecimalField(max_digits=40, decimal_places=18, db_default=0)
    reserved = models.DecimalField(max_digits=40, decimal_places=18, db_default=0)

    class Meta:
        db_table = "budget_windows"
        constraints = [
            models.CheckConstraint(condition=Q(reserved__gte=0) & Q(spent__gte=0), name="budget_windows_not_negative")
        ]

    def __str__(self) -> str:
        return f"{self.budget_id} from {self.starts_at}"


class TurnReservation(models.Model):
    """What the turn under way of a run has reserved; it ends with the turn's commit, or with its driver's lease."""

    run = models.OneToOneField("gateway.Run", models.CASCADE, primary_key=True, related_name="+", **TIED)
    tenant = models.ForeignKey(Tenant, **_TENANT)
    turn = models.IntegerField()
    fence = models.IntegerField()
    usage = JSONField(help_text="The most that the turn can use, as `turn_usage` will say it.")
    parts = JSONField(help_text="What is reserved of which budget: [[budget, start of its window, unit, amount], …].")

    class Meta:
        db_table = "turn_reservations"

    def __str__(self) -> str:
        return f"turn {self.turn} of {self.run_id}"


class TurnUsage(models.Model):
    """What one turn used, or one request for embeddings, which has no run; it stays when its conversation is erased.

    `estimated`: nobody knows, and what was reserved counts. Rates are US dollars per million tokens.
    """

    id = models.BigAutoField(primary_key=True)
    # Written with each turn: a foreign key would lock the tenant's row each time. A trigger keeps who is named.
    tenant = models.ForeignKey(Tenant, **_TENANT, db_constraint=False)
    at = models.DateTimeField(db_default=Now())
    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False, db_constraint=False)
    agent_id = models.UUIDField(null=True)
    key_id = models.UUIDField(null=True)
    run_id = models.UUIDField(null=True)
    turn = models.IntegerField()
    model = models.TextField()
    input_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    cached_tokens = models.BigIntegerField(db_default=0)
    cost = models.DecimalField(max_digits=40, decimal_places=18, null=True, help_text="US dollars; empty: no price.")
    input_rate = models.DecimalField(max_digits=40, decimal_places=18, null=True)
    output_rate = models.DecimalField(max_digits=40, decimal_places=18, null=True)
    price = models.TextField(db_default="", help_text='Whose price: "genai-prices 0.2.3", "tenant 4".')
    tools = JSONField(null=True, help_text="The tools that it called, one for each call.")
    estimated = models.BooleanField(db_default=False)

    class Meta:
        db_table = "turn_usage"
        ordering = ["-at"]
        indexes = [
            models.Index(fields=["tenant", "at"], name="turn_usage_recent"),
            models.Index(fields=["tenant", "user", "at"], name="turn_usage_of_user"),
        ]

    def __str__(self) -> str:
        return f"turn {self.turn} of {self.run_id}" if self.run_id else "embeddings"
