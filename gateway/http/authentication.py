"""Who asks, by their API key, and whether it reaches that far."""

from collections.abc import Mapping

from gateway.http.errors import InvalidKey, MissingScope
from tenants.login import authentication
from tenants.people.principal import Principal


async def authenticated(headers: Mapping[str, str], needs: str, *, key_headers: tuple[str, ...] = ()) -> Principal:
    """The member whose key came as a bearer, or in one of `key_headers`, names in lower case.

    Raises InvalidKey, also without any key, and MissingScope.
    """
    principal = await identified(headers, key_headers)
    permit(principal, needs)
    return principal


async def identified(headers: Mapping[str, str], key_headers: tuple[str, ...] = ()) -> Principal:
    """The same, whatever the key reaches; raises InvalidKey."""
    key = authentication.bearer(headers.get("authorization", "")) or ""
    for name in key_headers:
        key = key or headers.get(name, "")
    principal = await authentication.by_key(key)
    if principal is None:
        raise InvalidKey
    return principal


def permit(principal: Principal, needs: str) -> None:
    """Raise MissingScope unless the principal has the scope."""
    if needs not in principal.scopes:
        raise MissingScope(needs)
