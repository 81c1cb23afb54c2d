"""What owners do with services; each is one transaction in the scope of the caller, who has opened it.

A document has been fetched, and read, before: nothing here asks a network.
"""

import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from yarl import URL

from services import credentials, recorded, snapshots
from services.credentials import Credential
from services.errors import InvalidService, NoSuchService, OtherDefinition, SlugTaken
from services.models import Service, ServiceTool
from services.offers import definition, descriptor, mcp
from services.offers.descriptor import Offer
from tenants.people.changes import record
from tools.interface import Tier
from tools.network import egress
from tools.network.egress import EgressRefused
from tools.registry import MAX_TIMEOUT

LABELS = ("reads_private", "reads_untrusted", "leaves_tenant")
MAX_SERVICES = 2000
DEFAULT_TIMEOUT = 20.0
# They are addresses of the API below /api/v1/services/.
RESERVED = frozenset({"catalogue"})


@dataclass(frozen=True, slots=True)
class Source:
    """Where a snapshot comes from: a document, as `text`, and the address that it was fetched from, if it was."""

    kind: str
    text: str
    url: str = ""
    operations: list[str] = field(default_factory=list)
    skill: str = ""
    skill_problem: str = ""

    def offer(self, slug: str) -> Offer:
        """What it offers; raises InvalidService."""
        at = {"openapi": "openapi", "mcp": "url"}.get(self.kind, "descriptor")
        offer = snapshots.read(self.kind, slug, snapshots.parsed(self.text, at), self.operations)
        if self.kind == "mcp" or not descriptor.is_path(offer.skill):
            return offer
        skill = definition.check_words(self.skill, "descriptor.skill", descriptor.MAX_SKILL)
        return replace(offer, skill=skill, skill_problem=self.skill_problem)


@dataclass(frozen=True, slots=True)
class NewService:
    """A service that somebody wants to add; everything but the offer is checked."""

    slug: str
    kind: str
    url: str
    timeout: float
    credential: Credential

    @classmethod
    def read(cls, given: dict[str, Any]) -> "NewService":
        """Out of a request's body; raises InvalidService."""
        kind = given.get("kind")
        if kind not in ("http", "openapi", "mcp"):
            raise InvalidService("kind must be http, openapi or mcp.", "kind")
        if given.get("slug") in RESERVED:
            raise InvalidService("No service can have this slug; choose another.", "slug")
        return cls(
            slug=definition.check_slug(given.get("slug")),
            kind=kind,
            url=address(given.get("url"), "url"),
            timeout=seconds(given.get("timeout", DEFAULT_TIMEOUT)),
            credential=credentials.read(given.get("credential")),
        )


def address(given: Any, at: str) -> str:
    """The address of a service, without the slash at its end; raises InvalidService."""
    try:
        checked = egress.check(given if isinstance(given, str) else "")
    except EgressRefused as refused:
        words = f"{refused} The operator can allow private addresses (TOOLGATE_EGRESS_ALLOW)."
        raise InvalidService(words, at) from None
    if checked.query_string or checked.fragment or "?" in given or "#" in given:
        raise InvalidService("The address of a service has no ? and no #: what follows them is its tools' to say.", at)
    return str(given).rstrip("/")


def seconds(given: Any) -> float:
    """The time limit of a service's calls; raises InvalidService."""
    number = not isinstance(given, bool) and isinstance(given, int | float) and math.isfinite(given)
    if not number or not 0 < given <= MAX_TIMEOUT:
        raise InvalidService(f"timeout must be more than 0 and at most {MAX_TIMEOUT:g} seconds.", "timeout")
    return float(given)


Suggest = Callable[[str], dict[str, Any]]


def add(tenant_id: uuid.UUID, wanted: NewService, source: Source, suggest: Suggest | None = None) -> Service:
    """Add a service with its tools, none of them enabled; raises InvalidService and SlugTaken.

    What `suggest` says of a tool, by its name, is said of it from the beginning; it never switches one on.
    """
    offer = source.offer(wanted.slug)
    if Service.objects.filter(tenant_id=tenant_id).count() >= MAX_SERVICES:
        raise InvalidService(f"A tenant can have {MAX_SERVICES:,} services, and has them. Remove one first.")
    credential = wanted.credential
    try:
        with transaction.atomic():
            service = Service.objects.create(
                tenant_id=tenant_id,
                slug=wanted.slug,
                kind=wanted.kind,
                url=wanted.url,
                timeout=wanted.timeout,
                identity=credential.identity,
                header=credential.header,
                secret=credential.secret,
                oauth=dict(credential.oauth),
                source=source.text,
                source_url=source.url,
                operations=source.operations,
            )
    except IntegrityError:
        raise SlugTaken(wanted.slug) from None
    _take(service, offer, new=True)
    service = found(wanted.slug)
    record(None, recorded.service(service))
    for tool in offer.tools if suggest else ():
        assert suggest is not None
        change_tool(wanted.slug, tool.name, suggest(tool.name) | {"enabled": False})
    return service


def change(slug: str, given: dict[str, Any]) -> Service:
    """Change `url`, `timeout`, `credential`, `enabled`, `in_prompts`, or the `feeds` of an MCP server.

    Raises InvalidService and NoSuchService.
    """
    service = found(slug, lock=True)
    before = recorded.service(service)
    for name, value in given.items():
        if name == "url":
            service.url = moved(service, address(value, "url"), "credential" in given)
        elif name == "timeout":
            service.timeout = seconds(value)
        elif name == "credential":
            credential = credentials.read(value)
            service.identity, service.header = credential.identity, credential.header
            service.secret, service.oauth = credential.secret, dict(credential.oauth)
        elif name in ("enabled", "in_prompts"):
            setattr(service, name, _boolean(value, name))
        elif name == "feeds" and service.kind == Service.Kind.MCP:
            service.feeds = mcp.feeds(value, service.mcp)
        else:
            raise InvalidService(f"{name:.80} is not known here, or cannot be changed.", name[:80])
    service.updated_at = Now()
    service.save()
    service = found(slug)
    record(before, recorded.service(service))
    return service


def refresh(slug: str, source: Source) -> Service:
    """Take a new snapshot: whatever changed is closed until it is accepted. Raises InvalidService, NoSuchService."""
    service = found(slug, lock=True)
    before = recorded.service(service)
    _take(service, source.offer(slug))
    Service.objects.filter(pk=service.pk).update(
        source=source.text, source_url=source.url, operations=source.operations
    )
    service = found(slug)
    record(before, recorded.service(service))
    return service


def remove(slug: str) -> None:
    """Remove a service and its tools; the record of their calls stays. Raises NoSuchService."""
    service = found(slug, lock=True)
    record(recorded.service(service), None)
    service.delete()


def change_tool(slug: str, name: str, given: dict[str, Any], *, tenant_id: uuid.UUID | None = None) -> ServiceTool:
    """Change what a tenant says of a tool; raises InvalidService, NoSuchService. See `found` for `tenant_id`."""
    tool = found_tool(slug, name, lock=True, tenant_id=tenant_id)
    before = recorded.tool(tool)
    check_tool(tool, given)
    tool.updated_at = Now()
    tool.save()
    tool = found_tool(slug, name, tenant_id=tenant_id)
    record(before, recorded.tool(tool))
    return tool


def check_tool(tool: ServiceTool, given: dict[str, Any]) -> None:
    """Put what a tenant says of a tool into the row, and save nothing; raises InvalidService."""
    for key, value in given.items():
        if key in ("enabled", "idempotent", "parallel_safe"):
            setattr(tool, key, _boolean(value, key))
        elif key == "tier":
            if value not in list(Tier):
                raise InvalidService(f"tier must be one of {', '.join(Tier)}.", "tier")
            tool.tier = value
        elif key == "labels":
            if not isinstance(value, dict):
                raise InvalidService("labels must be an object.", "labels")
            for label, yes in value.items():
                if label not in LABELS:
                    raise InvalidService(f"There is no label {label:.80}; there are {', '.join(LABELS)}.", "labels")
                setattr(tool, label, _boolean(yes, f"labels.{label}"))
        else:
            raise InvalidService(f"{key:.80} is not known here, or cannot be changed.", key[:80])


def accept(slug: str, name: str, given: dict[str, Any]) -> ServiceTool | None:
    """Accept a tool as it is now, by the hash that was read; None when it was gone, and is removed.

    Raises InvalidService, NoSuchService, OtherDefinition.
    """
    read = given.get("hash")
    if set(given) != {"hash"} or not isinstance(read, str):
        raise InvalidService("The body must have the hash of what is accepted, and nothing else.", "hash")
    tool = found_tool(slug, name, lock=True)
    if read != (tool.hash or tool.accepted_hash):
        raise OtherDefinition(tool.hash or tool.accepted_hash)
    before = recorded.tool(tool)
    gone = not tool.hash
    snapshots.accept(tool)
    accepted = None if gone else found_tool(slug, name)
    record(before, recorded.tool(accepted) if accepted is not None else None)
    return accepted


def found(slug: str, *, lock: bool = False, tenant_id: uuid.UUID | None = None) -> Service:
    """The tenant's service; raises NoSuchService. Who sees more than one tenant says which by `tenant_id`."""
    services = Service.objects.select_for_update() if lock else Service.objects.all()
    services = services.filter(tenant_id=tenant_id) if tenant_id else services
    service = services.filter(slug=slug).first() if "\x00" not in slug else None
    if service is None:
        raise NoSuchService
    return service


def found_tool(slug: str, name: str, *, lock: bool = False, tenant_id: uuid.UUID | None = None) -> ServiceTool:
    """A tool of the tenant's service, by its own or its full name; raises NoSuchService. As `found` does."""
    service = found(slug, lock=lock, tenant_id=tenant_id)
    tools = ServiceTool.objects.select_for_update() if lock else ServiceTool.objects.all()
    own = name.removeprefix(f"{slug}.")
    tool = tools.filter(service=service, name=own).first() if "\x00" not in name else None
    if tool is None:
        raise NoSuchService("tool")
    return tool


def text_of(document: Any, field: str) -> str:
    """A document that came in a body, as it is kept; raises InvalidService."""
    if not isinstance(document, dict):
        raise InvalidService(f"{field} must be a document, which is an object, or its address.", field)
    return orjson.dumps(document).decode()


def _take(service: Service, offer: Offer, *, new: bool = False) -> None:
    try:
        with transaction.atomic():
            snapshots.take(service, offer, new=new)
    except IntegrityError:
        # Somebody else has added a tool of the same alias in this moment.
        words = "Another service was added at the same time, whose tools have the same names towards providers."
        raise InvalidService(words, "slug") from None


def moved(service: Service, url: str, credential_given: bool) -> str:
    """The service's new address; raises InvalidService.

    A credential goes to another host only when it is given anew: whoever may change the address need not know it.
    """
    elsewhere = URL(url).origin() != URL(service.url).origin()
    if elsewhere and service.identity != Service.Identity.NONE and not credential_given:
        words = "The credential was given for another host: give it anew, or none, together with the new address."
        raise InvalidService(words, "credential")
    return url


def _boolean(value: Any, at: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidService(f"{at} must be true or false.", at)
    return value
