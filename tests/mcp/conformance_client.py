"""Toolgate's MCP client for the official conformance suite: `python -m tests.mcp.conformance_client URL`.

It does what a service's snapshot, its calls and its user do together: read the offer, call each tool that can be used,
accept what is asked, read resources and get prompts.
"""

import asyncio
import json
import os
import re
import sys
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import django
from cryptography.fernet import Fernet

from tests.waiting import PATIENCE_SECONDS

# Where the suite's servers send a user back to, and the client's document that they know.
REDIRECT, DOCUMENT = "http://localhost:3000/callback", "https://conformance-test.local/client-metadata.json"
ACCEPTED = {"confirmed": True}
SAMPLES = {"number": 2, "integer": 2, "boolean": True, "string": "text", "array": [], "object": {}}


def sample(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments for a tool."""
    return {name: SAMPLES.get(each.get("type", ""), "text") for name, each in (schema.get("properties") or {}).items()}


def without_null(arguments: dict[str, Any]) -> dict[str, Any]:
    """As the gate wants them, which refuses null where a schema says text."""
    return {name: value for name, value in arguments.items() if value is not None}


def context() -> Any:
    """Of a call that nobody has recorded."""
    from tools.interface import ToolContext

    nobody = uuid.UUID(int=0)
    return ToolContext(uuid.uuid4(), nobody, nobody, None, None, PATIENCE_SECONDS)


async def authorized(url: str, added: str = "") -> str:
    """The token of a user who connects an account at the server: as `services.connections.flow`, without its rows.

    `added` are scopes that an owner has added, since the server said that it needs them.
    """
    from services.oauth import authorization, discovery, exchange, grants, registration

    # All clients of the suite start at once, and its one process serves them all.
    exchange.CONNECT_SECONDS = exchange.SECONDS = PATIENCE_SECONDS
    said = await discovery.protected(url, mcp=True)
    server, resource = await discovery.server(said.issuer, strict=True), said.resource
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "client_id" in given:
        client = grants.Client(given["client_id"], given.get("client_secret", ""))
    elif server.documents:
        client = grants.Client(DOCUMENT)
    else:
        client = await registration.register(server, REDIRECT, said.scope)
    attempt = authorization.Attempt()
    wanted = " ".join(dict.fromkeys(f"{said.scope} {added}".split()))
    asked = authorization.url(
        server, attempt, client_id=client.id, redirect_uri=REDIRECT, scope=wanted, resource=resource
    )
    # The user's browser, which the server sends back at once.
    async with aiohttp.ClientSession() as browser, browser.get(asked, allow_redirects=False) as answer:
        back = parse_qs(urlsplit(answer.headers["Location"]).query)
    assert back["state"] == [attempt.state]
    authorization.check_issuer(server, back["iss"][0] if "iss" in back else None)
    found = await grants.for_code(
        server, client, back["code"][0], verifier=attempt.verifier, redirect_uri=REDIRECT, resource=resource
    )
    return found.access


async def call(url: str, token: str, definition: Any, arguments: dict[str, Any], ctx: Any) -> None:
    """One call of a tool, whose user accepts what it is asked."""
    from services.credentials import Credential
    from services.execution.tool import Declared, Endpoint
    from services.mcp.tool import McpTool
    from tenants.people.encryption import encrypt
    from tools.errors import ToolError
    from tools.questions import Answer, InputRequired

    name, limit = f"suite.{definition.name}", PATIENCE_SECONDS
    declared = Declared(name, "A tool.", definition.parameters, "system", False, False, limit, definition.hash)
    credential = Credential(identity="bearer", secret=encrypt(token)) if token else Credential()
    tool = McpTool(declared, Endpoint("1", url, definition.http, credential))
    for _ in range(3):
        try:
            print(definition.name, (await tool.execute(arguments, ctx)).output)
            return
        except InputRequired as asked:
            answers = {each.key: Answer("accept", accepted(each.schema or {})) for each in asked.questions}
            ctx = context_with(ctx, answers, asked.state)
        except ToolError as error:
            print(definition.name, error.message, file=sys.stderr)
            lacking = re.search(r"It needs the scope (.+?), which an owner adds", error.message)
            if "401" not in error.message and lacking is None:
                return
            # The user is told to connect again, or its owner which scope to add first.
            found = await authorized(url, lacking.group(1) if lacking else "")
            credential = Credential(identity="bearer", secret=encrypt(found))
            tool = McpTool(declared, Endpoint("1", url, definition.http, credential))


def accepted(schema: dict[str, Any]) -> dict[str, Any]:
    """What a user accepts who changes nothing in the form."""
    return ACCEPTED if "confirmed" in (schema.get("properties") or {}) else {}


def context_with(ctx: Any, answers: Any, state: Any) -> Any:
    """As for the next execution of the call."""
    from dataclasses import replace

    return replace(ctx, answers=answers, state=state)


async def run(url: str) -> None:
    """Everything once; as a user who has connected where the server asks for that."""
    from services.mcp.errors import HttpFailed
    from tools.network import clients

    token = ""
    try:
        for again in (True, True, False):
            try:
                await everything(url, token)
                return
            except HttpFailed as failed:
                if failed.status != 401 or not again:
                    raise
            token = await authorized(url)
    finally:
        await clients.close()


async def everything(url: str, token: str) -> None:
    """Everything once, with an access token if there is one."""
    from services.errors import InvalidService
    from services.mcp import listing
    from services.mcp.connection import connected
    from services.mcp.errors import McpFailed
    from services.offers import mcp
    from services.offers.descriptor import Offer
    from tools.network import clients

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    key = (uuid.UUID(int=0), f"1 {url}", clients.digest(headers))
    async with connected(key, uuid.UUID(int=0), url, headers, PATIENCE_SECONDS) as connection:
        found = await listing.read(connection)
        try:
            offer = mcp.read("suite", found)
        except InvalidService as refused:
            print("refused:", refused, file=sys.stderr)
            offer = Offer(mcp={"resources": [], "prompts": [], "left_out": []})
        for method, name in (("resources/read", "uri"), ("prompts/get", "name")):
            for each in offer.mcp[method.partition("/")[0]]:
                params = {name: each[name]} | ({"arguments": {}} if name == "name" else {})
                try:
                    await connection.request(method, params)
                except McpFailed as failed:
                    print(method, failed, file=sys.stderr)
    print("left out:", offer.mcp["left_out"])
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls")
    for tool in offer.tools:
        chosen = (
            [without_null(each["arguments"]) for each in given if each["name"] == tool.http["tool"]] if given else None
        )
        for arguments in [sample(tool.parameters)] if chosen is None else chosen:
            await call(url, token, tool, arguments, context())


if __name__ == "__main__":
    # Nothing of the client asks a database; there is none at these addresses.
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "gateway.config.settings",
        "TOOLGATE_EGRESS_ALLOW": "localhost,127.0.0.0/8,::1/128",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "TOOLGATE_ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        **{f"DATABASE_{login}URL": "postgresql://nobody@127.0.0.1:1/none" for login in ("", "OWNER_")},
    }
    django.setup()
    asyncio.run(run(sys.argv[1]))
