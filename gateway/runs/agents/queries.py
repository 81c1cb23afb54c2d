"""Agents: making a tenant ready for its first chat, and what rules about agents ask."""

import uuid

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.db.models.fields.json import KeyTextTransform

from approvals.rules import agents
from gateway.models import Agent, Run
from gateway.runs.agents import versions
from tenants.models import Tenant
from tenants.people import recorded
from tenants.people.changes import record


def create_tenant(*, slug: str, name: str = "") -> Tenant:
    """A tenant and its default agent, which grants every tool; runs on the operator's login."""
    with transaction.atomic(using="operator"):
        tenant = Tenant.objects.create(slug=slug, name=name or slug.replace("-", " ").title())
        agent = Agent.objects.create(tenant=tenant, slug="default", name="Default", tools="all", is_default=True)
        record(None, recorded.TENANT.of(tenant))
        versions.put_on_record(agent, None)
    return tenant


def exists(tenant_id: uuid.UUID, slug: str) -> bool:
    """Whether the tenant has an agent of that slug, which is not archived."""
    return Agent.objects.filter(tenant_id=tenant_id, slug=slug, archived_at=None).exists()


def named(tenant_id: uuid.UUID | None, slug: str) -> str | None:
    """The agent's slug where the tenant has such a one, for kill switches."""
    return slug if tenant_id is not None and exists(tenant_id, slug) else None


_RUN_OF_CALL = Run.objects.filter(id=OuterRef("run_id")).order_by()
agents.register(
    agents.AgentQueries(exists, Subquery(_RUN_OF_CALL.values(agent_slug=KeyTextTransform("slug", "profile"))))
)
