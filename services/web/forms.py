"""What an owner typed, as the bodies that REST takes; which credentials and labels there are, for templates."""

from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from services.changes import LABELS
from services.errors import InvalidService
from services.models import ServiceTool
from tools.interface import Tier

KIND_WORDS = {"http": "HTTP API", "openapi": "OpenAPI document", "mcp": "MCP server"}
TIER_WORDS = {
    Tier.READ_ONLY: "Read only: changes nothing",
    Tier.WORKSPACE: "Workspace: changes the user’s own things",
    Tier.SYSTEM: "System: changes things elsewhere",
    Tier.ELEVATED: "Elevated: every call waits for a human",
}
LABEL_WORDS = {
    "reads_private": "Reads what not everybody may know",
    "reads_untrusted": "Reads what strangers wrote",
    "leaves_tenant": "Sends something out of the tenant",
}
_FLAGS = ("idempotent", "parallel_safe")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a credential. A secret one is never shown again, an optional one is left out when it is empty, and
    `many` is a list, separated by spaces."""

    name: str
    label: str
    secret: bool = False
    hint: str = ""
    optional: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True)
class CredentialType:
    """A type of credential that can be given on a page."""

    type: str
    label: str
    fields: tuple[Field, ...] = ()


_SCOPES = Field("scopes", "Scopes", hint="Separated by spaces", optional=True, many=True)
_CLIENT = Field("client_id", "Client id")
CREDENTIALS = (
    CredentialType("none", "None: it answers everybody"),
    CredentialType("bearer", "A token", (Field("token", "Token", True, "Sent as Authorization: Bearer …"),)),
    CredentialType(
        "header",
        "A header of its own",
        (Field("name", "Header", hint="Such as X-Api-Key"), Field("value", "Value", True)),
    ),
    CredentialType(
        "oauth_client",
        "OAuth, as Toolgate itself",
        (
            Field("issuer", "Issuer", hint="The address of its authorization server"),
            _CLIENT,
            Field("client_secret", "Client secret", True),
            _SCOPES,
        ),
    ),
    CredentialType(
        "oauth_user",
        "OAuth, as each user: everybody connects an account of their own",
        (
            Field("issuer", "Issuer", hint="Empty: the service says which", optional=True),
            replace(_CLIENT, optional=True),
            Field("client_secret", "Client secret", True, optional=True),
            _SCOPES,
        ),
    ),
)


def credential(post: QueryDict) -> dict[str, Any]:
    """The credential of a form, whose fields are called `<type>.<field>`; raises InvalidService."""
    chosen = post.get("credential", "none")
    for each in CREDENTIALS:
        if each.type == chosen:
            given = {field: post.get(f"{chosen}.{field.name}", "").strip() for field in each.fields}
            kept = {field: value for field, value in given.items() if value or not field.optional}
            return {"type": chosen} | {
                field.name: value.split() if field.many else value for field, value in kept.items()
            }
    raise InvalidService("Choose one of the credentials.", "credential")


def credential_words(given: dict[str, Any]) -> str:
    """What may be said of a credential that is stored."""
    label = next((each.label for each in CREDENTIALS if each.type == given["type"]), given["type"])
    more = [str(given[name]) for name in ("name", "issuer") if given.get(name)]
    if given.get("connected") is not None:
        more.append("connected" if given["connected"] else "not connected")
    return ", ".join([label, *more])


def seconds(post: QueryDict) -> float:
    """The time limit of a form; raises InvalidService."""
    try:
        return float(post.get("timeout", ""))
    except ValueError:
        raise InvalidService("The time limit must be a number of seconds.", "timeout") from None


def tool_change(post: QueryDict, prefix: str = "") -> dict[str, Any]:
    """What a form says of a tool, whose fields begin with the prefix."""
    given: dict[str, Any] = {name: f"{prefix}{name}" in post for name in _FLAGS}
    given["tier"] = post.get(f"{prefix}tier", "")
    given["labels"] = {label: f"{prefix}{label}" in post for label in LABELS}
    return given


def raises(tool: ServiceTool, given: dict[str, Any]) -> list[str]:
    """What a change lets calls do that they could not do before, a sentence for each; empty: nothing."""
    found = []
    if given.get("enabled") and not tool.enabled:
        found.append("It can be called by everybody whose agent and role reach it.")
    tier = given.get("tier", tool.tier)
    if tier in list(Tier) and Tier(tier).rank < Tier(tool.tier).rank:
        waits = " Its calls do not wait for a human any more." if tool.tier == Tier.ELEVATED else ""
        found.append(f"Its tier falls from {tool.tier} to {tier}.{waits}")
    if given.get("idempotent") and not tool.idempotent:
        found.append("A call that got no answer is sent again, since sending it twice is said to do no more than once.")
    labels = given.get("labels", {})
    found += [
        f"It is not said any more: {LABEL_WORDS[each].lower()}."
        for each in LABELS
        if getattr(tool, each) and labels.get(each) is False
    ]
    return found
