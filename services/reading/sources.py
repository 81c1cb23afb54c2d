"""Where a snapshot comes from: the document that a request names or holds. No transaction is open meanwhile."""

from dataclasses import replace
from typing import Any

import orjson
from asgiref.sync import sync_to_async

from services import changes, fetching, snapshots
from services.changes import NewService, Source
from services.credentials import Credential, CredentialError, NotConnected, resolver
from services.descriptors import catalogue
from services.errors import InvalidService, SourceFailed
from services.mcp import connection, listing
from services.mcp.errors import OLD_TRANSPORT, HttpFailed, McpFailed
from services.models import Service
from services.offers import descriptor, documents
from tenants.errors import Refused
from tenants.scope.transactions import TenantScope
from tools.network.egress import EgressFailed

DOCUMENTS = ("descriptor", "openapi")
# All that an MCP server lists.
SECONDS = 20.0
# What servers say to a POST that only take a GET.
NOT_POSTED = frozenset({400, 404, 405, 406, 415})


async def of(kind: str, given: dict[str, Any], base: str, credential: Credential, scope: TenantScope) -> Source:
    """The document that a body names or holds, asked for in the caller's scope; raises InvalidService, SourceFailed."""
    if kind == "mcp":
        try:
            return await _of_server(given, base, credential, scope)
        except NotConnected:
            # Its owner connects once it is there, and refreshes it.
            return Source("mcp", "{}")
    name = "openapi" if kind == "openapi" else "descriptor"
    other = next(each for each in DOCUMENTS if each != name)
    if given.get(other) is not None:
        raise InvalidService(f"A service of the kind {kind} has no {other}; it has {name}.", other)
    document = given.get(name)
    if document is None:
        raise InvalidService(f"A service of the kind {kind} needs {name}: a document, or its address.", name)
    operations = given.get("operations") or []
    # A NUL is in no name, and no text of PostgreSQL.
    if not isinstance(operations, list) or not all(isinstance(each, str) and "\x00" not in each for each in operations):
        raise InvalidService("operations must be a list of operationIds, or of texts such as GET /path.", "operations")
    address = document if isinstance(document, str) else ""
    text = changes.text_of(document, name) if not address else await _fetched(address, name)
    skill, problem = ("", "") if kind == "openapi" else await _skill(text, base, credential, scope)
    return Source(kind, text, address, operations, skill, problem)


async def of_entry(name: str, given: dict[str, Any], wanted: NewService, scope: TenantScope) -> Source:
    """The same of an entry of the catalogue; its descriptor is followed as later releases ship it."""
    source = await of(wanted.kind, given, wanted.url, wanted.credential, scope)
    return source if wanted.kind == "mcp" else replace(source, url=catalogue.address(name))


async def _fetched(address: str, name: str) -> str:
    """The document at an address, as JSON."""
    return await sync_to_async(documents.as_json)(await fetching.fetch(address, name), name)


async def _of_server(given: dict[str, Any], url: str, credential: Credential, scope: TenantScope) -> Source:
    """What an MCP server lists now, as a document; raises NotConnected beside what `of` does."""
    for name in (*DOCUMENTS, "operations"):
        if given.get(name):
            raise InvalidService(f"A service of the kind mcp has no {name}; its server lists its tools itself.", name)
    try:
        headers = await resolver.headers(scope, credential)
        async with connection.once(url, headers, SECONDS) as connected:
            found = await listing.read(connected)
    except NotConnected:
        raise
    except (McpFailed, EgressFailed) as failed:
        unposted = isinstance(failed, HttpFailed) and failed.status in NOT_POSTED
        if unposted and await fetching.answers_events(url, headers):
            raise SourceFailed(OLD_TRANSPORT, "url") from None
        raise listing.as_refusal(failed) from None
    except CredentialError as failed:
        raise SourceFailed(str(failed), "credential") from None
    return Source("mcp", orjson.dumps(found).decode())


async def _skill(text: str, base: str, credential: Credential, scope: TenantScope) -> tuple[str, str]:
    """The guidance that a descriptor names as a file of its service, or why it cannot be read."""
    given = await sync_to_async(snapshots.parsed)(text, "descriptor")
    path = given.get("skill") if isinstance(given, dict) else None
    if not isinstance(path, str) or not descriptor.is_path(path):
        return "", ""
    try:
        headers = await resolver.headers(scope, credential)
        return await fetching.fetch(f"{base}/{path}", "descriptor.skill", headers, descriptor.MAX_SKILL), ""
    except (Refused, CredentialError) as failed:
        return "", f"{path} could not be read: {failed}"


async def again(service: Service, given: dict[str, Any], scope: TenantScope) -> Source:
    """Where a new snapshot of a service comes from: what the body says, else where the last one came from."""
    if service.kind == "mcp":
        try:
            return await _of_server(given, service.url, Credential.of(service), scope)
        except NotConnected as failed:
            raise SourceFailed(str(failed), "credential") from None
    name = "openapi" if service.kind == "openapi" else "descriptor"
    if name not in given and catalogue.is_address(service.source_url):
        shipped = {name: catalogue.present(service.source_url, orjson.loads(service.source))} | given
        source = await of(service.kind, shipped, service.url, Credential.of(service), scope)
        return replace(source, url=service.source_url)
    wanted = {"operations": service.operations, name: service.source_url or orjson.loads(service.source)} | given
    return await of(service.kind, wanted, service.url, Credential.of(service), scope)
