"""Making a tenant ready for its first chat."""

from django.db import transaction

from gateway.models import Agent
from tenants.models import Tenant


def create_tenant(*, slug: str, name: str = "") -> Tenant:
    """A tenant and its default agent, which grants every tool; runs on the operator's login."""
    with transaction.atomic(using="operator"):
        tenant = Tenant.objects.create(slug=slug, name=name or slug.replace("-", " ").title())
        Agent.objects.create(tenant=tenant, slug="default", name="Default", tools="all", is_default=True)
    return tenant
