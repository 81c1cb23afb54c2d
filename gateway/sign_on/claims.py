"""What the claims about a person come to: their address, a name, and a role."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from services.oauth.errors import ServerUnusable
from tenants.login.sign_on import Person
from tenants.models import Role, SignOnProvider, User

MOST_VALUES, LONGEST_VALUE = 1000, 300
# Of two that fit, the first in the owner's list counts; a list has no more.
MOST_ROLES = 50
_ABSENT = object()


def person(provider: SignOnProvider, claims: dict[str, Any]) -> Person:
    """Who it is. An address counts when it is of the provider's domain, and verified or trusted by the owner."""
    address = claims.get("email")
    verified = claims.get("email_verified")
    counts = (
        isinstance(address, str)
        and len(address) <= 254
        and _is_address(address)
        and address.rpartition("@")[2].lower() == provider.domain
        and (verified is True or verified == "true" or (verified is None and provider.trusts_addresses))
    )
    mail = str(address).lower() if counts else ""
    return Person(provider.issuer, claims["sub"], mail, _name(mail))


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return text.isprintable()


def _name(address: str) -> str:
    """What a new account is called."""
    return str(User.normalize_username(address))[:150]


def role(provider: SignOnProvider, claims: dict[str, Any]) -> str | None:
    """The role that the claims give; None: none. Raises ServerUnusable when the claim cannot be read."""
    fallback = provider.default_role or None
    if not provider.role_claim:
        return fallback
    values = _values(_found(claims, provider.role_claim))
    fitting = (each["role"] for each in provider.roles if each["value"] in values)
    wanted = next(fitting, fallback)
    return wanted if wanted in Role.values else None


def _found(claims: dict[str, Any], name: str) -> Any:
    """A claim by its name, or by the path to it (`realm_access.roles`)."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _values(claim: Any) -> set[str]:
    if claim is _ABSENT or claim is None:
        return set()
    values = [claim] if isinstance(claim, str) else claim
    if (
        not isinstance(values, list)
        or len(values) > MOST_VALUES
        or not all(isinstance(each, str) and len(each) <= LONGEST_VALUE for each in values)
    ):
        raise ServerUnusable("The claim that says the role is no text and no list of texts, or is too long.")
    return set(values)
