"""Calls that ask, as MCP clients are asked.

    2026-07-28          a result `input_required` with what the client can be asked; sent again with its answers and the
                        sealed state, the request goes on with the same call
    with `initialize`   requests of ours on the call's stream, which the client answers by POSTs of their own
    neither declared    as for a call that waits for an approval: a task, or an error that says where to answer

A question stays one of the user's: who answers it on a page meanwhile is as good, and the client then gets the result.
"""

import json
import re
import uuid
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    InputResponses,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from approvals.questions import repository
from approvals.rows import AskedQuestion
from audit.calls import reading
from audit.calls.rows import ToolCall
from audit.models import Origin
from gateway.mcp import exchange
from gateway.mcp.asking import sessions
from gateway.mcp.asking.sessions import ELICITATION, ROOTS, SAMPLING, URLS
from tenants.people import encryption
from tenants.people.encryption import Undecipherable
from tenants.scope.transactions import TenantScope, transaction

Context = ServerRequestContext[Any, Any]
_Result = dict[str, Any]
# How long a stream is kept open for a person, in the revisions where that is how they are asked.
STREAM_SECONDS = 600.0
_RESPONSES: TypeAdapter[InputResponses] = TypeAdapter(InputResponses)
_SEALED = re.compile(r"[A-Za-z0-9_-]{1,200000}={0,2}")
_CAPABILITIES: dict[str, dict[str, Any]] = {
    ELICITATION: {"elicitation": {"form": {}}},
    URLS: {"elicitation": {"url": {}}},
    SAMPLING: {"sampling": {}},
    ROOTS: {"roots": {}},
}


def declared(context: Context) -> frozenset[str]:
    """What the client can be asked, as it has said with the request, or when it began."""
    if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return sessions.declared(exchange.of(context).session)
    capabilities = context.session.client_capabilities
    if capabilities is None:
        return frozenset()
    return sessions.letters_of(capabilities.model_dump(by_alias=True, exclude_none=True))


async def asked(caller: TenantScope, call: ToolCall) -> list[AskedQuestion]:
    """What the call waits for, also what is answered of it."""
    async with transaction(caller) as connection:
        return await repository.open_of(connection, call.id)


def askable(questions: list[AskedQuestion], known: frozenset[str]) -> list[AskedQuestion]:
    """Those that nobody has answered, and that a client which knows this can be asked."""
    return [each for each in questions if each.status == "pending" and _needed(each) in known]


def demand(questions: list[AskedQuestion], known: frozenset[str]) -> MCPError | None:
    """The error for a client that has not declared what only it could answer; None where a person can."""
    missing = [_needed(each) for each in questions if each.request is not None and _needed(each) not in known]
    if not missing:
        return None
    capabilities = _CAPABILITIES[missing[0]]
    words = f"The tool needs the client's capability {next(iter(capabilities))}; it was stopped."
    return MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, words, {"requiredCapabilities": capabilities})


def required(call: ToolCall, questions: list[AskedQuestion]) -> _Result:
    """The result that has the client answer these questions, and send its request again."""
    return {
        "resultType": "input_required",
        "inputRequests": requests(questions),
        "requestState": encryption.encrypt(json.dumps({"call": str(call.id), "fence": call.fence})),
    }


def requests(questions: list[AskedQuestion]) -> dict[str, _Result]:
    """The questions as `inputRequests`, by their keys."""
    return {each.key: request_of(each) for each in questions}


def request_of(question: AskedQuestion) -> _Result:
    """A question as a request to a client."""
    if question.request is not None:
        return question.request
    params: _Result = {"message": question.message}
    if question.url is not None:
        params |= {"mode": "url", "url": question.url, "elicitationId": str(question.id)}
    else:
        schema = {name: value for name, value in (question.schema or {}).items() if name != "additionalProperties"}
        params |= {"mode": "form", "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


async def resumed(context: Context, params: CallToolRequestParams) -> ToolCall:
    """The call that a request with our state goes on with: its user's, of the same tool and arguments.

    Raises MCPError for a state that is not ours, or not this call's.
    """
    caller = exchange.of(context).tenant_scope
    try:
        call_id = uuid.UUID(_opened(params.request_state or "")["call"])
    except (ValueError, TypeError, KeyError):
        raise _foreign() from None
    async with transaction(caller) as connection:
        call = await reading.one(connection, call_id, caller.user_id)
    if call is None or call.origin != Origin.MCP or call.run_id is not None:
        raise _foreign()
    if (call.tool_name, call.input) != (params.name, params.arguments or {}):
        raise _foreign()
    return call


def responses_of(params: Any) -> dict[str, Any]:
    """The client's answers, by the questions' keys."""
    if not params.input_responses:
        return {}
    return dict(_RESPONSES.dump_python(params.input_responses, mode="json", by_alias=True, exclude_none=True))


def passed_on(context: Context, about: str, params: Any) -> dict[str, Any] | None:
    """What goes on with an earlier request to a service's server: None where this client cannot be asked in results.

    `about` names what is read. Raises MCPError for a state that is not ours, or of something else.
    """
    if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    answers: dict[str, Any] = {}
    if params.input_responses:
        answers["inputResponses"] = responses_of(params)
    if params.request_state is not None:
        sealed = _opened(params.request_state)
        if sealed.get("of") != [*map(str, exchange.of(context).tenant_scope), about]:
            raise _foreign()
        if sealed.get("state") is not None:
            answers["requestState"] = sealed["state"]
    return answers


def asked_by_server(context: Context, about: str, given: dict[str, Any]) -> dict[str, Any]:
    """A server's own `InputRequiredResult` for its prompt or resource, with its state sealed.

    Raises MCPError for what the client has not declared, or nobody passes on.
    """
    requests = given.get("inputRequests") or {}
    known = declared(context)
    for each in requests.values() if isinstance(requests, dict) else [None]:
        if not isinstance(each, dict) or each.get("method") != "elicitation/create":
            raise MCPError(INTERNAL_ERROR, "The service asks for something that is not passed on.")
        needed = URLS if (each.get("params") or {}).get("mode") == "url" else ELICITATION
        if needed not in known:
            words = f"What is read of {about} asks its reader, which needs the client's capability elicitation."
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, words, {"requiredCapabilities": _CAPABILITIES[needed]})
    of = [*map(str, exchange.of(context).tenant_scope), about]
    state = encryption.encrypt(json.dumps({"of": of, "state": given.get("requestState")}))
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


async def ask_on_stream(context: Context, questions: list[AskedQuestion], said: set[uuid.UUID]) -> None:
    """Send the requests of these questions on the call's stream, each once."""
    for question in questions:
        if question.id not in said:
            said.add(question.id)
            await exchange.of(context).say({"jsonrpc": "2.0", "id": str(question.id), **request_of(question)})


def _needed(question: AskedQuestion) -> str:
    if question.request is not None:
        return SAMPLING if question.request["method"].startswith("sampling/") else ROOTS
    return ELICITATION if question.url is None else URLS


def _opened(state: str) -> dict[str, Any]:
    """What we had sealed; raises MCPError."""
    # What is behind the padding of base64 would not be looked at.
    if not _SEALED.fullmatch(state):
        raise _foreign()
    try:
        found = json.loads(encryption.decrypt(state))
    except (Undecipherable, ValueError):
        raise _foreign() from None
    if not isinstance(found, dict):
        raise _foreign()
    return found


def _foreign() -> MCPError:
    return MCPError(INVALID_PARAMS, "requestState is none that Toolgate gave for this request.")
