"""Tenants, the people in them, and what acts for them."""

from tenants.models.clients import ApiKey, ClientGrant, ClientToken, UserSession
from tenants.models.limits import KillSwitch, RequestLimits
from tenants.models.people import LANGUAGES, Departure, Invitation, Membership, Role, User
from tenants.models.sign_on import ConfirmedDomain, SignOnIdentity, SignOnProvider
from tenants.models.tenant import RightsVersion, Tenant
from tenants.models.ties import TIED

__all__ = [
    "LANGUAGES",
    "TIED",
    "ApiKey",
    "ClientGrant",
    "ClientToken",
    "ConfirmedDomain",
    "Departure",
    "Invitation",
    "KillSwitch",
    "Membership",
    "RequestLimits",
    "RightsVersion",
    "Role",
    "SignOnIdentity",
    "SignOnProvider",
    "Tenant",
    "User",
    "UserSession",
]
