"""`tools/call` without the SDK's transport, where the client wants nothing but the result, and the call ends soon.

Most calls are such: the SDK's tasks and streams would cost a fifth of the processor time of one. What is taken here is
what the SDK takes, by its own models and checks, and the result has the SDK's shape; it is one JSON document, which
every revision allows. All else goes to the SDK, with the call as it is by then: a call that lasts longer than SECONDS,
asks its user, waits for a human, says something for the client's log, or went wrong.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import orjson
from mcp.shared.inbound import (
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    DEFAULT_NEGOTIATED_VERSION,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    methods,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from audit.calls.rows import ToolCall
from gateway.http.asgi import Answer, Request
from gateway.http.bodies import ClientGone
from gateway.mcp import results, tools
from gateway.mcp.calls import calling, inflight, tasks
from gateway.mcp.exchange import Exchange
from gateway.mcp.messages import Message
from gateway.runs.watching.wakeups import waits
from tools.gates.checks.allowlist import UNKNOWN
from tools.invocation import invoke

# How long a call is waited for here; the SDK's streams have signs of life for those that take longer.
SECONDS = 1.0
_METHOD = "tools/call"
_JSON, _EVENTS = "application/json", "text/event-stream"
# What else a request may have in its params, or a client of 2026-07-28 in `_meta`, wants more than a result.
_PARAMS = frozenset({"name", "arguments", "_meta"})
_ENVELOPE = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})


class Plain(NamedTuple):
    """A call whose client wants nothing but its result, in a revision."""

    name: str
    arguments: dict[str, Any]
    revision: str

    @property
    def old(self) -> bool:
        """Whether the revision is one that begins with `initialize`."""
        return self.revision in HANDSHAKE_PROTOCOL_VERSIONS


async def answer(
    request: Request, lines: list[tuple[bytes, bytes]], message: Message, under_way: Exchange, server_info: Any
) -> bool:
    """Answer a request, or leave it to the SDK: False, and `under_way` knows the call if it has made one.

    `lines` are the headers as they came. Raises ClientGone.
    """
    asked = plain(message, request.headers, lines)
    if asked is None:
        return False
    under_way.beginning = calling.begin(under_way, asked.name, asked.arguments, resumes=True)
    mine = asyncio.current_task()
    assert mine is not None
    watching = asyncio.create_task(_watch(request, under_way, mine))
    try:
        call = await _called(under_way, asked, message.id)
    except asyncio.CancelledError:
        # Not when it is this process that ends: the client asks another one.
        if not under_way.gone:
            raise
        calling.cancel_later(under_way, under_way.beginning)
        if mine.uncancel():
            raise
        raise ClientGone from None
    finally:
        watching.cancel()
    if call is None:
        return False
    # Before the client can send another request of the same id.
    await under_way.after.aclose()
    await request.answer(Answer(200, _response(message.id, asked.revision, call, server_info)))
    return True


async def _watch(request: Request, under_way: Exchange, asking: "asyncio.Task[Any]") -> None:
    """Cancel who asks once the client hangs up."""
    await request.hung_up()
    under_way.gone = True
    asking.cancel()


def plain(message: Message, headers: Mapping[str, str], lines: list[tuple[bytes, bytes]]) -> Plain | None:
    """The call that a request makes; None where its client wants more than the result, or the SDK would refuse it."""
    params, accepted = message.params, {each.partition(";")[0].strip() for each in headers.get("accept", "").split(",")}
    if message.method != _METHOD or message.id is None or not params.keys() <= _PARAMS:
        return None
    if not {_JSON, _EVENTS} <= accepted or headers.get("content-type", "").partition(";")[0].strip() != _JSON:
        return None
    if find_duplicated_routing_header((name.decode("latin-1"), "") for name, _ in lines) is not None:
        return None
    revision = headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    if revision in HANDSHAKE_PROTOCOL_VERSIONS:
        if params.get("_meta"):
            return None
    elif not _plain_modern(message, headers, revision):
        return None
    try:
        methods.validate_client_request(_METHOD, revision, params)
    except ValidationError:
        return None
    return Plain(params["name"], params.get("arguments") or {}, revision)


def _plain_modern(message: Message, headers: Mapping[str, str], revision: str) -> bool:
    if revision not in MODERN_PROTOCOL_VERSIONS or any(map(_repeats_argument, headers)):
        return False
    body = {"jsonrpc": "2.0", "id": message.id, "method": message.method, "params": message.params}
    route = classify_inbound_request(body, headers=headers)
    if not isinstance(route, InboundModernRoute) or not message.params["_meta"].keys() <= _ENVELOPE:
        return False
    declared = route.client_capabilities
    extensions = (declared.get("extensions") or {}) if isinstance(declared, dict) else {}
    if tasks.EXTENSION in extensions:
        return False
    schema = tools.input_schema(message.params["name"]) if isinstance(message.params.get("name"), str) else None
    arguments = message.params.get("arguments")
    if schema is None or not isinstance(arguments, dict):
        return True
    return validate_mcp_param_headers(schema, arguments, headers) is None


def _repeats_argument(header: str) -> bool:
    return header.startswith(MCP_PARAM_HEADER_PREFIX.lower())


async def _called(under_way: Exchange, asked: Plain, request_id: str | int | None) -> ToolCall | None:
    """The call once it is final, or None for what the SDK goes on with."""
    assert under_way.beginning is not None
    try:
        begun = await asyncio.shield(under_way.beginning)
    except Exception:
        # The SDK's way meets the same, and says it as it says all errors.
        return None
    call = begun.call
    if begun.resumed or call.approval_id is not None or call.decision[0].get("log") == UNKNOWN:
        return None
    if call.final:
        return call
    if asked.old:
        await under_way.after.enter_async_context(inflight.known(under_way, request_id, call.id))
        under_way.known = True
    said = False

    def heard(_: object) -> None:
        nonlocal said
        said = True
        waits().wake(call.id)

    async def seen(looked: ToolCall) -> None:
        if not looked.final:
            under_way.looked = looked
        if said:
            raise _Said

    # A client without a session has asked for no log messages.
    listens = waits().reading_logs(call.id, heard) if asked.old and under_way.session else nullcontext()
    try:
        with listens:
            found = await invoke.until_rest(under_way.tenant_scope, call.id, SECONDS, seen, sent=call)
    except _Said:
        return None
    return found if found.final else None


class _Said(Exception):
    """The call has said something for its client's log."""


def _response(request_id: str | int | None, revision: str, call: ToolCall, server_info: Any) -> Any:
    found = methods.serialize_server_result(_METHOD, revision, {**results.COMPLETE, **results.of(call)})
    if revision in MODERN_PROTOCOL_VERSIONS:
        found["_meta"] = {**(found.get("_meta") or {}), SERVER_INFO_META_KEY: server_info}
    response = {"jsonrpc": "2.0", "id": request_id, "result": found}
    # Unlike orjson it writes integers of any length.
    return orjson.Fragment(json.dumps(response, ensure_ascii=False, separators=(",", ":")).encode())
