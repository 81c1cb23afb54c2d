"""Addresses of operations that have servers of their own, where the document's are not theirs.

Each is a URL, or a path at the host of the service. The document's own servers are what an owner gives as the address
of the service: where an operation repeats them, it has none of its own.
"""

import re
from typing import Any

from services.errors import InvalidService
from services.offers import placing
from tools.network import egress
from tools.network.egress import EgressRefused

MAX_SERVERS = 20
_VARIABLE = re.compile(r"\{([^{}]*)\}")


def of(document: dict[str, Any], own: Any, of_path: Any, at: str) -> list[str]:
    """The servers of an operation, itself or by its path; raises InvalidService for one that cannot be called."""
    given = own or of_path
    if not given:
        return []
    if not isinstance(given, list) or len(given) > MAX_SERVERS:
        raise InvalidService(f"{at}: servers must be a list of up to {MAX_SERVERS}.", "operations")
    usual = document.get("servers")
    urls = [each.get("url") for each in usual if isinstance(each, dict)] if isinstance(usual, list) and usual else ["/"]
    if all(isinstance(each, dict) and each.get("url") in urls for each in given):
        return []
    return [_address(each, at) for each in given]


def with_defaults(given: Any, variables: Any) -> Any:
    """The address of a server with the defaults of its variables in their places."""
    for name, variable in variables.items() if isinstance(given, str) and isinstance(variables, dict) else ():
        default = variable.get("default") if isinstance(variable, dict) else None
        if isinstance(default, str):
            given = given.replace(f"{{{name}}}", default)
    return given


def _address(given: Any, at: str) -> str:
    server = given if isinstance(given, dict) else {}
    url = with_defaults(server.get("url"), server.get("variables"))
    if not isinstance(url, str) or _VARIABLE.search(url) or "?" in url or "#" in url:
        raise InvalidService(f"{at} has a server whose address is not one: {url!s:.200}", "operations")
    if url.startswith("/") and not url.startswith("//"):
        placing.check_path(url, f"{at}: the path of its server")
        return url.rstrip("/")
    try:
        return str(egress.check(url)).rstrip("/")
    except EgressRefused as refused:
        raise InvalidService(f"{at} has a server that cannot be called: {url:.200}. {refused}", "operations") from None
