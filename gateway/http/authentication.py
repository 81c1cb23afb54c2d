"""Who asks, by their API key, and whether it reaches that far."""

from collections.abc import Mapping

from gateway.http import asking
from gateway.http.errors import InvalidKey, MissingScope
from tenants.login import authentication
from tenants.login import remembered as by_memory
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
    principal = await authentication.by_key(_key(headers, key_headers))
    if principal is None:
        raise InvalidKey
    asking.remember(principal)
    return principal


async def remembered(
    headers: Mapping[str, str], needs: str, *, key_headers: tuple[str, ...] = (), anew: bool = False
) -> Principal:
    """As `authenticated`, but perhaps by what this process remembers: for who gives the principal's version to the
    first transaction in which they read or write for it. With `anew` it is read now."""
    key = _key(headers, key_headers)
    principal = await by_memory.by_key(key, anew=anew)
    if principal is not None and principal.version is not None and needs not in principal.scopes:
        # Nobody is refused by what may have changed since.
        principal = await by_memory.by_key(key, anew=True)
    if principal is None:
        raise InvalidKey
    asking.remember(principal)
    permit(principal, needs)
    return principal


def _key(headers: Mapping[str, str], key_headers: tuple[str, ...]) -> str:
    key = authentication.bearer(headers.get("authorization", "")) or ""
    for name in key_headers:
        key = key or headers.get(name, "")
    return key


def permit(principal: Principal, needs: str) -> None:
    """Raise MissingScope unless the principal has the scope."""
    if needs not in principal.scopes:
        raise MissingScope(needs)
