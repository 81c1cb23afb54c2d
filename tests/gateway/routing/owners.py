"""What owners and the operator say of providers and models, said directly."""

from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections, transaction

from gateway.providers.routing.models import ModelProvider
from gateway.providers.routing.settings import changes, rules, wanted
from tenants.models import KillSwitch, Tenant
from tenants.people.changes import acting
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.people import Cast


def add(cast: Cast, slug: str, base_url: str, key: str = "sk-own", **more: Any) -> None:
    """An own provider of the tenant's."""
    with _scope(cast):
        given = {"slug": slug, "kind": "openai-compatible", "base_url": base_url, "api_key": key} | more
        changes.create(cast.id, wanted.new(given, own=True), None)


def change(cast: Cast, slug: str, **given: Any) -> ModelProvider:
    """Another key, address or state of it."""
    with _scope(cast):
        row = changes.found(cast.id, slug)
        return changes.change(cast.id, row.version, wanted.changed(row, given), None)


def remove(cast: Cast, slug: str) -> None:
    """It is gone."""
    with _scope(cast):
        changes.remove(cast.id, slug)


def say(cast: Cast, **given: Any) -> None:
    """What is allowed, fallbacks, prices."""
    with _scope(cast):
        rules.change(cast.id, given)


def of_operator(slug: str, base_url: str, key: str = "sk-operator", **more: Any) -> None:
    """A provider of the operator's."""
    with on_login("operator"), transaction.atomic(using="operator"):
        given = {"slug": slug, "kind": "openai-compatible", "base_url": base_url, "api_key": key} | more
        changes.create(None, wanted.new(given, own=False), None)


def offer(cast: Cast, slugs: list[str] | None) -> None:
    """Which of the operator's providers the tenant may use."""
    with on_login("operator"):
        Tenant.objects.filter(pk=cast.id).update(operator_providers=slugs)


def _scope(cast: Cast) -> Any:
    return _Scope(cast)


class _Scope:
    def __init__(self, cast: Cast):
        self._within = transactions.scope(cast.id, cast.olga.principal.user_id)
        self._acting = acting(cast.olga.principal.user_id, "api")

    def __enter__(self) -> None:
        self._acting.__enter__()
        self._within.__enter__()

    def __exit__(self, *args: Any) -> None:
        self._within.__exit__(*args)
        self._acting.__exit__(*args)
        connections["default"].close()


def beside(work: Any) -> Any:
    """The same for asynchronous tests, in a thread."""
    return sync_to_async(work, thread_sensitive=False)


def stop(cast: Cast, model: str) -> None:
    """Put a kill switch on for a model."""
    with _scope(cast):
        KillSwitch.objects.create(tenant_id=cast.id, kind=KillSwitch.Kind.MODEL, target=model, reason="test")
