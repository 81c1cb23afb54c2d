"""The clients that may ask: those with a metadata document at their id, the operator's, and, where allowed, registered
ones. All are public: they prove themselves by PKCE and by where the answer is sent, and have no secret.
"""

import json
import time
from typing import Any
from urllib.parse import urlsplit

from allauth.idp.oidc.internal import cimd
from allauth.idp.oidc.models import Client
from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError

from gateway.oauth import redirects
from tools.network import egress

CONNECT_SECONDS, SECONDS = 3.0, 5.0
MAX_BYTES = 16 * 1024
# After so long a metadata document is read again.
DOCUMENT_SECONDS = 3600
MAX_REDIRECTS = 20
NAME_CHARACTERS = 100


class ClientRefused(Exception):
    """There is no such client, or its metadata cannot be used; the message is for the person or the program."""


def of_request(client_id: str) -> Client:
    """The client that asks a person for access; its metadata document is read when it is not known or old.

    Raises ClientRefused. A document that cannot be read is no client, also when it could be read before.
    """
    known = Client.objects.filter(id=client_id).first() if client_id.isprintable() else None
    if not cimd.is_cimd_url(client_id):
        if known is None:
            raise ClientRefused("No client with this id is registered here.")
        return known
    if known is not None and time.time() - (known.data or {}).get("read_at", 0) < DOCUMENT_SECONDS:
        return known
    try:
        host = cimd.validate_client_id(client_id).hostname or ""
    except (ValidationError, ValueError):
        raise ClientRefused("The client's id is neither registered here nor a plain https address.") from None
    metadata = _document(client_id)
    if metadata.get("client_id") != client_id:
        raise ClientRefused("The client's metadata document is another client's.")
    if metadata.get("token_endpoint_auth_method", "none") != "none":
        raise ClientRefused("The client's metadata document asks for a kind of authentication that is not offered.")
    client = _client(client_id, metadata, name=host, source="document")
    # Two people may ask at the same time.
    Client.objects.bulk_create(
        [client], update_conflicts=True, unique_fields=["id"], update_fields=["name", "redirect_uris", "data"]
    )
    return client


def register(metadata: dict[str, Any], *, source: str) -> Client:
    """Store a client under a new id. Raises ClientRefused. `source`: who says so, "registration" or "operator"."""
    client = _client(None, metadata, name="An unnamed client", source=source)
    client.save(force_insert=True)
    return client


def vouched_for_by(client: Client) -> str:
    """Who vouches for the client: the host of its metadata document, or the operator; empty when nobody does."""
    if cimd.is_cimd_url(client.id):
        return str(urlsplit(client.id).netloc)
    return "the operator of this Toolgate" if (client.data or {}).get("source") == "operator" else ""


def _document(client_id: str) -> dict[str, Any]:
    try:
        answer = async_to_sync(egress.request)(
            "GET",
            client_id,
            headers={"Accept": "application/json"},
            connect_seconds=CONNECT_SECONDS,
            seconds=SECONDS,
            most=MAX_BYTES + 1,
        )
    except egress.EgressFailed as failed:
        raise ClientRefused(f"The client's metadata document cannot be read: {failed}") from None
    if answer.status != 200 or answer.encoding or len(answer.body) > MAX_BYTES:
        raise ClientRefused("The client's metadata document cannot be read: the address answers something else.")
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise ClientRefused("The client's metadata document is not JSON.") from None
    if not isinstance(found, dict):
        raise ClientRefused("The client's metadata document is not a JSON object.")
    return found


def _client(client_id: str | None, metadata: dict[str, Any], *, name: str, source: str) -> Client:
    """An unsaved client. Raises ClientRefused."""
    given = metadata.get("client_name", name)
    if not isinstance(given, str) or not given.strip() or not given.isprintable():
        raise ClientRefused("client_name must be a text that can be printed.")
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_REDIRECTS or not all(isinstance(u, str) for u in uris):
        raise ClientRefused(f"redirect_uris must be a list of 1 to {MAX_REDIRECTS} addresses.")
    for uri in uris:
        if wrong := redirects.problem_of(uri):
            raise ClientRefused(f"redirect_uris: {uri[:100]!r} {wrong}.")
    client = Client(
        **({"id": client_id} if client_id else {}),
        name=given.strip()[:NAME_CHARACTERS],
        # No password hashes to this: a public client has no secret.
        secret="!",
        type=Client.Type.PUBLIC,
        data={"source": source, "read_at": int(time.time())},
    )
    client.set_redirect_uris(uris)
    client.set_grant_types([Client.GrantType.AUTHORIZATION_CODE, Client.GrantType.REFRESH_TOKEN])
    client.set_response_types([Client.ResponseType.CODE])
    return client
