"""What owners do with their tenant's providers, and the operator with theirs; each in the transaction of the caller.

A provider was tested before: nothing here asks a network. `tenant_id` None is the operator, on whose login it runs.
"""

import uuid
from typing import Any

from django.db import IntegrityError, router, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from gateway.providers.routing.errors import ChangedMeanwhile, InvalidProvider, NoSuchProvider, ProviderTaken
from gateway.providers.routing.models import ModelProvider
from gateway.providers.routing.settings import recorded
from gateway.providers.routing.settings.testing import Tested
from gateway.providers.routing.settings.wanted import WantedProvider
from tenants.people import encryption

MOST = 100


def all_of(tenant_id: uuid.UUID | None) -> QuerySet[ModelProvider]:
    """The tenant's own providers, or the operator's, by slug."""
    return ModelProvider.objects.filter(Q(tenant_id=tenant_id)).order_by("slug")


def found(tenant_id: uuid.UUID | None, slug: str, *, lock: bool = False) -> ModelProvider:
    """One of them; raises NoSuchProvider."""
    rows = all_of(tenant_id).select_for_update() if lock else all_of(tenant_id)
    row = rows.filter(slug=slug).first() if "\x00" not in slug else None
    if row is None:
        raise NoSuchProvider
    return row


def create(tenant_id: uuid.UUID | None, wanted: WantedProvider, tested: Tested | None) -> ModelProvider:
    """Add a provider; raises ProviderTaken and InvalidProvider."""
    if all_of(tenant_id).count() >= MOST:
        raise InvalidProvider(f"There can be {MOST} providers, and there are. Remove one first.")
    row = ModelProvider(tenant_id=tenant_id, slug=wanted.slug)
    _put(row, wanted, tested)
    try:
        with transaction.atomic(using=router.db_for_write(ModelProvider)):
            row.save(force_insert=True)
    except IntegrityError:
        raise ProviderTaken(wanted.slug) from None
    recorded.provider(None, row)
    return found(tenant_id, wanted.slug)


def change(tenant_id: uuid.UUID | None, version: int, wanted: WantedProvider, tested: Tested | None) -> ModelProvider:
    """Change the provider that had this version when it was read; raises NoSuchProvider and ChangedMeanwhile."""
    row = found(tenant_id, wanted.slug, lock=True)
    if row.version != version:
        raise ChangedMeanwhile(row.version)
    before = recorded.said(row)
    _put(row, wanted, tested)
    row.version += 1
    row.updated_at = Now()
    row.save()
    row = found(tenant_id, wanted.slug)
    recorded.provider(before, row)
    return row


def note(tenant_id: uuid.UUID | None, slug: str, tested: Tested) -> ModelProvider:
    """Keep what a test found; raises NoSuchProvider."""
    row = found(tenant_id, slug, lock=True)
    _note(row, tested)
    row.save(update_fields=["tested_at", "problem"])
    return row


def remove(tenant_id: uuid.UUID | None, slug: str) -> None:
    """Remove a provider with its key; turns under way end over it. Raises NoSuchProvider."""
    row = found(tenant_id, slug, lock=True)
    before = recorded.said(row)
    recorded.provider(before, None)
    row.delete()


def shown(row: ModelProvider) -> dict[str, Any]:
    """A provider as the API shows it: of its key only whether there is one."""
    return {
        "slug": row.slug,
        "kind": row.kind,
        "base_url": row.base_url,
        "has_key": bool(row.api_key),
        "models": row.listed,
        "enabled": row.enabled,
        "version": row.version,
        "tested_at": row.tested_at,
        "problem": row.problem,
        "updated_at": row.updated_at,
    }


def _put(row: ModelProvider, wanted: WantedProvider, tested: Tested | None) -> None:
    row.kind, row.base_url, row.enabled = wanted.kind, wanted.base_url, wanted.enabled
    row.listed = None if wanted.models is None else list(wanted.models)
    if wanted.key_given:
        row.api_key = encryption.encrypt(wanted.api_key) if wanted.api_key else ""
    if tested is not None:
        _note(row, tested)


def _note(row: ModelProvider, tested: Tested) -> None:
    row.tested_at, row.problem = timezone.now(), "" if tested.ok else tested.detail
