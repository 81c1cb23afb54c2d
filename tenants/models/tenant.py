"""A customer, and the version of the rights in it."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tenants.scope.jsonb import JSONField


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
