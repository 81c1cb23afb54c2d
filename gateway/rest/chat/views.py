"""`POST /api/v1/chat`, and the runs that it begins."""

import uuid
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gateway.http import bodies, problems
from gateway.http.asgi import EVENT_STREAM
from gateway.http.drf import JSONParser
from gateway.http.rendering import JSONRenderer
from gateway.rest.chat import answers, parsing, run_serializers, stream_tokens
from gateway.rest.chat.event_serializers import StreamEvent
from gateway.rest.chat.stream_tokens import PARAMETER, StreamTokenAuthentication
from gateway.rest.chat.streaming import begin, look, streaming
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import problem, refusals
from gateway.runs import reading
from gateway.runs.children import below
from gateway.runs.errors import (
    AttachmentRefused,
    ContentTooLarge,
    ConversationBusy,
    IdempotencyMismatch,
    InvalidRequest,
    NoSuchAgent,
    NoSuchConversation,
    NoSuchModel,
    NoSuchRun,
    RunNotOver,
)
from gateway.runs.lifecycle import following, stopping
from gateway.runs.prompting import messages
from gateway.runs.replay import events as replay_events
from gateway.runs.rows import Run, RunCall, Turn
from gateway.runs.view import RunView, call_body
from gateway.runs.view import body as run_body
from gateway.runs.watching import events
from tenants.limits.streams import TooManyOpenStreams
from tenants.scope.transactions import transaction

_JSON = JSONRenderer.media_type
_RUN = {(200, _JSON): run_serializers.RunBody, **refusals(NoSuchRun)}
_PROVIDER_FAILED = {
    (429, problems.CONTENT_TYPE): problem(
        "`provider_error`: the model's provider asks to slow down.\n\n"
        "`too_many_streams`: the person, or this process, has as many open streams as it may have."
    ),
    (502, problems.CONTENT_TYPE): problem("`provider_error`: the model's provider failed."),
}
_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": parsing.MAX_KEY_CHARACTERS},
    OpenApiParameter.HEADER,
    description="For 24 hours, the same key and body get the same run.",
)
_LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID", str, OpenApiParameter.HEADER, description="The id of the last event that was read."
)


class EventStreamRenderer(JSONRenderer):
    """Lets a client accept `text/event-stream`; the stream itself is written by `answers.stream`."""

    media_type = EVENT_STREAM
    format = "events"


def response(view: RunView) -> Response:
    """The answer for a run at rest."""
    status, body, headers = answers.at_rest(view)
    content_type = problems.CONTENT_TYPE if status >= 400 else None
    return Response(body, status, headers=headers, content_type=content_type)


class ChatView(AsyncView):
    """Ask the model, with tools."""

    parser_classes = [JSONParser]
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(
        operation_id="create_chat",
        request=run_serializers.ChatRequest,
        parameters=[_KEY],
        responses={
            (200, _JSON): OpenApiResponse(
                run_serializers.RunBody, description="The run is over; or, where it was asked for, its events."
            ),
            (200, EVENT_STREAM): StreamEvent,
            (202, _JSON): OpenApiResponse(run_serializers.RunBody, description="The run waits for a human."),
            **refusals(
                InvalidRequest,
                NoSuchConversation,
                NoSuchAgent,
                NoSuchModel,
                ConversationBusy,
                ContentTooLarge,
                AttachmentRefused,
                IdempotencyMismatch,
            ),
            **_PROVIDER_FAILED,
        },
    )
    async def post(self, request: Request) -> HttpResponseBase:
        """Begin a run and answer when it is over, or stream it."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        bodies.check_length(headers, parsing.MAX_BODY_BYTES, parsing.too_large)
        body = await sync_to_async(request._request.read)(parsing.MAX_BODY_BYTES + 1)
        parsed = parsing.chat(body, headers)
        run, opened = await begin(self, parsed.request)
        if opened is not None:
            return streaming(self, opened, run, wait=parsed.wait)
        await following.until_rest(self.tenant_scope, run, parsed.wait)
        return response(run)


class RunDetailView(AsyncView):
    """A run at any time."""

    @extend_schema(operation_id="get_run", responses=_RUN)
    async def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """The run as it is now; a failed one too is a 200 here."""
        return Response(run_body(await following.look(self.tenant_scope, run_id)))


class RunEventsView(AsyncView):
    """A run as events, live and replayed."""

    authentication_classes = [StreamTokenAuthentication, *APIView.authentication_classes]
    renderer_classes = [EventStreamRenderer, JSONRenderer]

    @extend_schema(
        operation_id="stream_run_events",
        parameters=[
            _LAST_EVENT_ID,
            OpenApiParameter("last_event_id", str, description="The same, for who cannot send the header."),
            OpenApiParameter(PARAMETER, str, description="Instead of a key, one of `stream-token`."),
        ],
        responses={
            (200, EVENT_STREAM): StreamEvent,
            204: OpenApiResponse(description="The last event was the run's last: there is nothing to come back for."),
            **refusals(NoSuchRun, TooManyOpenStreams),
        },
    )
    async def get(self, request: Request, run_id: uuid.UUID) -> HttpResponseBase:
        """All events from the beginning, or those after `Last-Event-ID`, to the run's end."""
        run, opened = await look(self, run_id)
        last = request.headers.get("Last-Event-ID") or request.query_params.get("last_event_id", "")
        # An EventSource comes back whenever a stream ends, unless it is answered so.
        if events.position(last).ended:
            opened.close()
            answer: HttpResponseBase = Response(status=204)
        else:
            answer = streaming(self, opened, run, last)
        if PARAMETER in request.query_params:
            # Neither a cache nor another site may get hold of an address with a token in it.
            answer.headers["Cache-Control"] = "no-store, no-transform"
            answer.headers["Referrer-Policy"] = "no-referrer"
        return answer


class RunStreamTokenView(AsyncView):
    """A way to a run's events without a key in the address."""

    @extend_schema(
        operation_id="create_stream_token",
        request=None,
        responses={201: run_serializers.StreamToken, **refusals(NoSuchRun)},
    )
    async def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """A token for `?token=` of this run's events: for five minutes, for the caller's run, and for nothing else."""
        await following.look(self.tenant_scope, run_id)
        token, expires_at = stream_tokens.issue(self.principal, run_id)
        return Response({"token": token, "expires_at": expires_at}, 201)


class RunCancelView(AsyncView):
    """The end of a run from outside."""

    @extend_schema(operation_id="cancel_run", request=None, responses=_RUN)
    async def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Cancel the run; one that is over stays as it is."""
        return Response(run_body(await stopping.cancel(self.tenant_scope, run_id)))


class RunTreeView(AsyncView):
    """A run with those that it began."""

    @extend_schema(operation_id="get_run_tree", responses={200: run_serializers.RunTree, **refusals(NoSuchRun)})
    async def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """The run with its descendants, each with its `children` in the order in which they began."""
        async with transaction(self.tenant_scope) as connection:
            found = await below.tree(connection, self.tenant_scope, run_id)
        if found is None:
            raise NoSuchRun(run_id)
        return Response(found)


class ReplayRenderer(JSONRenderer):
    """Lets a client accept JSON lines; they are written by `replay_events.stream`."""

    media_type = replay_events.CONTENT_TYPE
    format = "jsonl"


class RunReplayView(AsyncView):
    """A run that is over, as replay events."""

    renderer_classes = [ReplayRenderer, JSONRenderer]

    @extend_schema(
        operation_id="get_run_replay",
        responses={
            (200, replay_events.CONTENT_TYPE): OpenApiResponse(
                run_serializers.ReplayEvent, description="JSON lines, one event each; see docs/guides/replay-a-run.md."
            ),
            **refusals(NoSuchRun, RunNotOver),
        },
    )
    async def get(self, request: Request, run_id: uuid.UUID) -> HttpResponseBase:
        """`Turn`, `ToolCall` and `ToolResult` as JSON lines; 409 `run_not_over` while the run goes on."""
        view = await following.look(self.tenant_scope, run_id)
        replay_events.ensure_over(view.run)
        lines = replay_events.stream(self.tenant_scope, run_id)
        return StreamingHttpResponse(lines, content_type=replay_events.CONTENT_TYPE, headers=answers.STREAM_HEADERS)


class RunTraceView(AsyncView):
    """What happened in a run, turn by turn."""

    @extend_schema(operation_id="get_run_trace", responses={200: run_serializers.Trace, **refusals(NoSuchRun)})
    async def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Per turn the model's text and usage, and every call with arguments, result, latency and gate decisions."""
        view = await following.look(self.tenant_scope, run_id)
        async with transaction(self.tenant_scope) as connection:
            turns = await reading.turns(connection, run_id)
            calls = await reading.calls(connection, run_id)
        limit = view.run.profile["max_result_bytes"]
        trace = [_turn(view.run, turn, [call for call in calls if call.turn == turn.number], limit) for turn in turns]
        whole = run_body(view)
        shown = {name: whole[name] for name in ("run_id", "conversation_id", "status", "model", "usage", "error")}
        return Response({**shown, "tool_trace": trace})


def _turn(run: Run, turn: Turn, calls: list[RunCall], limit: int) -> dict[str, Any]:
    return {
        "turn": turn.number,
        "text": turn.text,
        "finish_reason": turn.finish_reason,
        "latency_ms": turn.latency_ms,
        "model": turn.details.get("model") or run.model,
        "failed": [{"model": model, "message": why} for model, why in turn.details.get("failed", ())],
        "usage": {"input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens},
        "tool_calls": [
            {
                **call_body(call),
                "arguments": call.input if call.input_raw is None else call.input_raw,
                "result": _tool_result(call, limit),
                "latency_ms": call.execution_time_ms,
                "attempt": call.attempt,
                "decision": call.decision,
                "approved_input": call.approved_input,
                "resumed_decision": call.resumed_decision,
            }
            for call in calls
        ],
    }


def _tool_result(call: RunCall, limit: int) -> Any:
    return orjson.loads(messages.result(call, limit)) if call.final else None
