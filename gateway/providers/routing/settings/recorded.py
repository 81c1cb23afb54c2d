"""What the record of changes says of providers and of what is allowed of models."""

from typing import Any

from gateway.providers.routing.models import ModelProvider, ModelSettings
from tenants.people import changes, raising
from tenants.people.changes import Kind

_PROVIDER = Kind(
    target="provider",
    name="slug",
    fields=("kind", "base_url", "listed", "enabled"),
    secrets=("api_key",),
    raises=raising.while_on("kind", "base_url", "api_key"),
)


def _models_raise(before: changes.Said | None, after: changes.Said | None) -> bool:
    """A model that was not allowed; or other prices, by which budgets of money are measured."""
    none: dict[str, Any] = {"allowed": None, "prices": []}
    old, new = before.values if before else none, after.values if after else none
    wider = old["allowed"] is not None and (new["allowed"] is None or set(new["allowed"]) - set(old["allowed"]))
    return bool(wider) or old["prices"] != new["prices"]


_MODELS = Kind(target="models", name="", fields=("allowed", "fallbacks", "prices"), raises=_models_raise)


def provider(before: changes.Said | None, row: ModelProvider | None) -> None:
    """Record what became of a tenant's provider; the operator's belong to no tenant's record."""
    after = said(row)
    if before is not None or after is not None:
        changes.record(before, after)


def said(row: ModelProvider | ModelSettings | None) -> changes.Said | None:
    """What the record says of a row now; None of one that is not there, or is the operator's."""
    if row is None or row.tenant_id is None:
        return None
    return _PROVIDER.of(row) if isinstance(row, ModelProvider) else _MODELS.of(row)
