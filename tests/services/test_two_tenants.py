"""Two tenants with an MCP service of the same slug at the same address, who get opposite answers there."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.people import Cast
from tests.services.api import Api, Asked, Owner, Reply, call
from tests.services.mcp_server import MODERN, OLDER, Result, Server, text
from tests.services.test_mcp_services import add
from tests.stack import Stack

TOKENS = {"one": "token-of-the-one-1c9d", "other": "token-of-the-other-7e2a"}
CALLS = 12


def look(said: str) -> dict[str, Any]:
    """The tool that both have."""
    return {"name": "look", "description": said, "inputSchema": {"type": "object", "properties": {"at": {}}}}


class TwoFaced(Server):
    """Lists and answers by the credential that it is asked with; `mixed` are sessions that came with another's."""

    def __init__(self, api: Api, revision: str):
        super().__init__(api, revision)
        self.listed = {"one": [look("One.")], "other": [look("Other."), look("Only here.") | {"name": "only_there"}]}
        self.opened: dict[str, str] = {}
        self.mixed: list[str] = []
        self.call = lambda params, asked: text(f"{side_of(asked)}: {params['arguments'].get('at')}")

    def _result(self, message: dict[str, Any], asked: Asked) -> Result | Reply:
        side, session = side_of(asked), asked.headers.get("mcp-session-id", "")
        if session and self.opened.setdefault(session, side) != side:
            self.mixed.append(session)
        if message["method"] == "tools/list":
            return {"tools": self.listed[side]}
        return super()._result(message, asked)


def side_of(asked: Asked) -> str:
    """Whose credential a request has."""
    [side] = [each for each, token in TOKENS.items() if asked.headers.get("authorization") == f"Bearer {token}"]
    return side


@pytest.mark.parametrize("revision", [MODERN, OLDER])
def test_two_tenants_with_the_same_slug_at_the_same_server_never_mix(
    stack: Stack, tenant: Cast, other_tenant: Cast, api: Api, url: str, revision: str
) -> None:
    server = TwoFaced(api, revision)
    sides = {"one": tenant, "other": other_tenant}
    owners = {side: Owner(stack, cast.olga) for side, cast in sides.items()}
    for side, owner in owners.items():
        add(owner, url, credential={"type": "bearer", "token": TOKENS[side]})

    def outcome(side: str, at: int, tool: str = "far.look") -> Any:
        made = call(stack, sides[side].alice, tool, {"at": at})
        return made["output"]["content"][0]["text"] if made["status"] == "success" else made["error"]["code"]

    asked = [(side, at) for at in range(CALLS) for side in sides]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda each: outcome(*each), asked))
    assert found == [f"{side}: {at}" for side, at in asked]
    assert (server.mixed, len(set(server.opened.values()))) == ([], 2 if revision == OLDER else 0)
    assert (outcome("one", 0, "far.only_there"), outcome("other", 0, "far.only_there")) == ("not_allowed", "other: 0")
    # What one of them has accepted, switched off or been shown as changed is its own.
    server.listed["one"] = [look("Another one.")]
    assert owners["one"].ask("POST", "far/refresh/").status_code == 200
    assert owners["other"].ask("POST", "far/refresh/").status_code == 200
    assert owners["one"].tool("look", "far")["drift"] is not None
    assert owners["other"].tool("look", "far")["drift"] is None
    assert (outcome("one", 1), outcome("other", 1)) == ("not_allowed", "other: 1")
    assert owners["one"].ask("DELETE", "far/").status_code == 204
    assert outcome("other", 2) == "other: 2"
