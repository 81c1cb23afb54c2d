"""The one way from a service's credential to the headers of a request, taken at the last moment."""

from collections.abc import Mapping

from services.credentials import tokens
from services.credentials.errors import CredentialUnavailable, NotConnected
from services.credentials.stored import Credential
from tenants.people.encryption import Undecipherable, decrypt
from tenants.scope.transactions import TenantScope

_TOO_EARLY = "The service gets a token once it is added."


async def headers(scope: TenantScope, credential: Credential) -> dict[str, str]:
    """What a request to the service is sent with, in the name of the scope's user; no transaction may be open.

    Raises CredentialError.
    """
    if credential.is_oauth:
        if credential.service_id is None:
            raise NotConnected(credential.slug, _TOO_EARLY if credential.identity == "oauth_client" else "")
        return _bearer(await tokens.current(scope, credential))
    if credential.identity == "none":
        return {}
    try:
        secret = decrypt(credential.secret)
    except Undecipherable:
        words = "It cannot be read any more; an owner has to set it again."
        raise CredentialUnavailable(credential.slug, words) from None
    return _bearer(secret) if credential.identity == "bearer" else {credential.header: secret}


async def refreshed(scope: TenantScope, credential: Credential, rejected: Mapping[str, str]) -> dict[str, str] | None:
    """Other headers, once the service has answered 401 to the `rejected` ones; None: its answer stands.

    Raises CredentialError.
    """
    if not credential.is_oauth or credential.service_id is None:
        return None
    token = await tokens.newer(scope, credential, rejected.get("Authorization", "").removeprefix("Bearer "))
    return None if token is None else _bearer(token)


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
