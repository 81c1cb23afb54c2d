"""The one way from the name of a model to who answers as it, for a tenant: providers, what is allowed, fallbacks."""

import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from gateway.providers import patterns
from gateway.providers.demo.provider import DemoProvider
from gateway.providers.interface import Options, Provider
from gateway.providers.registry import Providers, UnknownModel
from gateway.providers.routing.clients import client
from gateway.providers.routing.errors import ModelNotAllowed, OtherModelsAsked
from gateway.providers.routing.prices import Price
from gateway.providers.routing.rows import NamedProvider
from tenants.scope import jsonb
from tenants.scope.transactions import Connection, TenantScope, transaction

# The column of who reads it beside something else, inside the tenant's scope.
COLUMN = "model_routing(nullif(current_setting('toolgate.tenant', true), '')::uuid) AS model_routing"
_READ = f"SELECT rights_version(nullif(current_setting('toolgate.tenant', true), '')::uuid) AS version, {COLUMN}"
OPERATOR = "the operator of this Toolgate"
# Tenants whose providers and models a process remembers, the last used ones.
MOST = 1024
MOST_FALLBACKS = 8
# Models of a tenant whose way is remembered: requests name them.
MOST_ROUTES = 64
# Fields that have a provider choose by itself, beside those that speak of models and fallbacks.
_CHOOSERS = frozenset({"route", "router", "preset", "extra_body"})


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model that may be asked: `name` is "provider/model", as it is checked and recorded; `model` is the provider's
    own name of it. `own`: a provider of the tenant's. `kind` is whose API it speaks, `demo` for the offline model."""

    name: str
    slug: str
    model: str
    kind: str
    own: bool
    price: Price | None
    build: Callable[[], Provider] = field(repr=False, compare=False)

    @property
    def adapter(self) -> Provider:
        """Who asks it, in the running event loop. Raises ProviderMisconfigured when its key cannot be read."""
        return self.build()


@dataclass(frozen=True, slots=True)
class ModelRules:
    """What a tenant, or the operator, says of models. `allowed` None: every model."""

    allowed: tuple[str, ...] | None = None
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Routing:
    """A tenant's providers and models under one version of its rights; `Routing()` is that nothing is said.

    `offered` are the operator's providers that it may use, None: all.
    """

    providers: Mapping[str, NamedProvider] = field(default_factory=dict)
    own: ModelRules = field(default_factory=ModelRules)
    operator: ModelRules = field(default_factory=ModelRules)
    offered: frozenset[str] | None = None
    version: uuid.UUID | None = None
    configured: bool = False
    _routes: "dict[tuple[str, str], tuple[Providers, tuple[ResolvedModel, ...]]]" = field(
        default_factory=dict, repr=False, compare=False
    )

    def resolve(self, model: str, environment: Providers) -> ResolvedModel:
        """Who answers as "provider/model", or as the operator's default model for "".

        Raises UnknownModel and ModelNotAllowed.
        """
        name = model or environment.default_model
        slug, _, own_name = name.partition("/")
        provider = self.providers.get(slug)
        own = provider is not None and provider.own
        if provider is None:
            if self.offered is not None and slug not in self.offered and environment.has(slug):
                who = f"{OPERATOR}; an owner can add a provider of the tenant's own under Settings, Models"
                raise ModelNotAllowed(name, who)
            try:
                _, own_name = environment.check(name)
            except UnknownModel as unknown:
                raise self._unknown(name, unknown, environment) from None
            kind, build = "demo" if slug == DemoProvider.name else slug, _of_environment(environment, name)
        elif not own_name or not provider.enabled:
            state = "is switched off" if own_name else "needs the name of a model behind it"
            raise UnknownModel(f"Unknown model {name[:100]!r}: the provider {slug} {state}.")
        else:
            kind, build = provider.kind, _built(provider)
        self._check(name, own)
        return ResolvedModel(name, slug, own_name, kind, own, self._price(name, own), build)

    def route(self, model: str, environment: Providers, first: str = "") -> tuple[ResolvedModel, ...]:
        """The model and its fallbacks, in the order in which they are asked; `first` is asked before the others if it
        is one of them. Fallbacks that cannot be used are left out. Raises as `resolve` does."""
        key = model or environment.default_model, first
        known = self._routes.get(key)
        if known is not None and known[0] is environment:
            return known[1]
        found = [self.resolve(model, environment)]
        for fallback in self.fallbacks(found[0].name):
            try:
                found.append(self.resolve(fallback, environment))
            except (UnknownModel, ModelNotAllowed):
                continue
        ordered = tuple(sorted(found, key=lambda each: each.name != first) if first else found)
        if len(self._routes) >= MOST_ROUTES:
            self._routes.clear()
        self._routes[key] = environment, ordered
        return ordered

    def fallbacks(self, name: str) -> tuple[str, ...]:
        """What is asked where a model fails, in order."""
        said = patterns.best(self.own.fallbacks, name)
        return tuple(each for each in said or () if each != name)[:MOST_FALLBACKS]

    def is_allowed(self, name: str, own: bool) -> bool:
        """Whether members may use the model; the operator's list is about the operator's providers."""
        lists = [self.own.allowed] if own else [self.own.allowed, self.operator.allowed]
        return all(allowed is None or patterns.any_matches(allowed, name) for allowed in lists)

    def refuse_other_models(self, options: Options, tools: tuple[Mapping[str, Any], ...]) -> None:
        """Refuse fields by which a provider would ask another model than the one that was checked, where not every
        model is allowed; `tools` are those that the provider itself runs. Raises OtherModelsAsked."""
        if self.own.allowed is None and self.operator.allowed is None:
            return
        for given in (options.extra, *tools):
            for name in given:
                low = name.lower()
                if "model" in low or "fallback" in low or low in _CHOOSERS:
                    raise OtherModelsAsked(name)

    def _unknown(self, name: str, unknown: UnknownModel, environment: Providers) -> UnknownModel:
        """The same, naming the tenant's providers too."""
        slug, slash, own_name = name.partition("/")
        if not self.configured or not name or (slash and own_name and environment.has(slug)):
            return unknown
        named = [each for each in environment.names() if self.offered is None or each in self.offered]
        named = sorted({*named, *(each.slug for each in self.providers.values() if each.enabled)})
        return UnknownModel(
            f"Unknown model {name[:100]!r}. A model is named provider/model, and the providers of this tenant are: "
            f"{', '.join(named) or 'none'}. An owner can add one under Settings, Models."
        )

    def _check(self, name: str, own: bool) -> None:
        if self.is_allowed(name, own):
            return
        if self.own.allowed is None or patterns.any_matches(self.own.allowed, name):
            raise ModelNotAllowed(name, OPERATOR)
        raise ModelNotAllowed(name)

    def _price(self, name: str, own: bool) -> Price | None:
        """Whoever pays the provider says first what it costs."""
        said = [self.own, self.operator] if own else [self.operator, self.own]
        return next((price for each in said if (price := patterns.best(each.prices, name)) is not None), None)


NOTHING = Routing()
_remembered: OrderedDict[tuple[uuid.UUID, uuid.UUID], Routing] = OrderedDict()


def remembered(tenant_id: uuid.UUID, version: uuid.UUID, said: dict[str, Any] | None) -> Routing:
    """The routing out of what `model_routing` answered under a version of the tenant's rights."""
    found = _remembered.get((tenant_id, version))
    if found is None:
        found = Routing(version=version) if said is None else parsed(said, version)
        _remembered[tenant_id, version] = found
        if len(_remembered) > MOST:
            _remembered.popitem(last=False)
    _remembered.move_to_end((tenant_id, version))
    return found


async def routing(scope: TenantScope) -> Routing:
    """The tenant's routing as the database has it now: one statement."""
    async with transaction(scope) as connection:
        return await read(connection, scope)


async def read(connection: Connection, scope: TenantScope) -> Routing:
    """The same in the caller's transaction."""
    row = await (await connection.execute(_READ.encode())).fetchone()
    assert row is not None
    return remembered(scope.tenant_id, row["version"], row["model_routing"])


def read_now(tenant_id: uuid.UUID) -> Routing:
    """The same over Django's connection, in the caller's scope."""
    with connections["default"].cursor() as cursor:
        cursor.execute(_READ)
        version, said = cursor.fetchone()
    return remembered(tenant_id, version, jsonb.loads(said) if isinstance(said, str) else said)


def parsed(said: dict[str, Any], version: uuid.UUID | None = None) -> Routing:
    """The routing out of the JSON object that `model_routing` makes."""
    providers: dict[str, NamedProvider] = {}
    for row in said["providers"]:
        # A tenant's own row comes before the operator's of the same slug.
        providers.setdefault(row["slug"], NamedProvider.of(row))
    rules = {row["own"]: _rules(row) for row in said["settings"]}
    offered = said["offered"]
    return Routing(
        providers,
        rules.get(True, ModelRules()),
        rules.get(False, ModelRules()),
        None if offered is None else frozenset(offered),
        version,
        configured=True,
    )


def _rules(row: dict[str, Any]) -> ModelRules:
    source = "tenant" if row["own"] else "operator"
    return ModelRules(
        None if row["allowed"] is None else tuple(row["allowed"]),
        {pattern: tuple(models) for pattern, models in row["fallbacks"].items()},
        {price["model"]: Price.of(price, source, row["version"]) for price in row["prices"]},
    )


def _of_environment(environment: Providers, name: str) -> Callable[[], Provider]:
    return lambda: environment.resolve(name)[0]


def _built(provider: NamedProvider) -> Callable[[], Provider]:
    return lambda: client(provider)
