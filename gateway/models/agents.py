"""Agents, and the versions that changes leave behind."""

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.models import TIED, Tenant, User
from tenants.scope.jsonb import JSONField
from tools.models import TIERS


class Agent(models.Model):
    """A named profile: instructions, model, the tools it may use, and its budgets."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    slug = models.SlugField()
    name = models.CharField(max_length=200)
    instructions = models.TextField(blank=True)
    model = models.CharField(max_length=200, blank=True, help_text="provider/model; empty: DEFAULT_MODEL.")
    tools = JSONField(
        default=list, blank=True, help_text='"all", or a list of names; "..." stands for the tenant\'s default tools.'
    )
    is_default = models.BooleanField(default=False)
    max_tier = models.CharField(
        max_length=16, choices=TIERS, blank=True, help_text="The highest tier of tools that it may use; empty: any."
    )
    on_refused_approval = models.CharField(
        max_length=8,
        choices=[("tell", "Tell the model"), ("halt", "End the run")],
        default="tell",
        help_text="What follows when an approval is denied or expires.",
    )
    on_disconnect = models.CharField(
        max_length=8,
        choices=[("continue", "Go on"), ("cancel", "Cancel the run")],
        default="continue",
        help_text="What follows when a client of /v1 hangs up.",
    )
    max_turns = models.PositiveSmallIntegerField(default=8)
    max_seconds = models.PositiveSmallIntegerField(default=120)
    max_run_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Tokens of one run and of all that it begins, in and out; empty: no limit.",
    )
    max_run_usd = models.DecimalField(
        max_digits=21,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="US dollars of one run and of all that it begins; empty: no limit.",
    )
    tool_seconds = models.PositiveSmallIntegerField(default=30)
    max_result_bytes = models.PositiveIntegerField(default=16_384)
    max_offered_tools = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="With more tools than this, its model finds them with tools_search; empty: the operator's number.",
    )
    pinned_tools = JSONField(
        default=list, blank=True, help_text='What its model is shown of them all the same: names, "service.*".'
    )
    version = models.PositiveIntegerField(
        default=1, db_default=1, editable=False, help_text="Of what is said here: each change raises it."
    )
    archived_at = models.DateTimeField(
        null=True, editable=False, help_text="Since when nothing begins with it any more; its slug stays taken."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "agents"
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "slug"], name="agents_tenant_slug"),
            models.UniqueConstraint(fields=["tenant"], condition=Q(is_default=True), name="agents_one_default"),
            models.CheckConstraint(
                condition=Q(is_default=False) | Q(archived_at=None), name="agents_default_is_not_archived"
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def archived(self) -> bool:
        """Whether nothing begins with it any more."""
        return self.archived_at is not None


class AgentVersion(models.Model):
    """An agent as somebody left it: `values` are all of its fields, `number` is the agent's `version` of then.

    Written with the change itself, by `gateway.runs.agents.versions` alone, and never changed.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions", **TIED)
    number = models.PositiveIntegerField()
    values = JSONField()
    restored = models.PositiveIntegerField(null=True, help_text="The version that was restored, if one was.")
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    via = models.TextField(help_text="page, api, admin, command or toolgate.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "agent_versions"
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["tenant", "agent", "number"], name="agent_versions_number")]

    def __str__(self) -> str:
        return f"{self.agent_id} as of version {self.number}"
