"""Chatting with an agent as it would be with a change that is not saved: `POST /api/v1/agents/{slug}/test/`."""

from dataclasses import replace
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from gateway.http import bodies
from gateway.http.asgi import EVENT_STREAM
from gateway.http.authentication import permit
from gateway.http.drf import JSONParser
from gateway.http.rendering import JSONRenderer
from gateway.rest.agents.agent_serializers import AgentTestRequest
from gateway.rest.chat import parsing, run_serializers
from gateway.rest.chat.event_serializers import StreamEvent
from gateway.rest.chat.streaming import begin, streaming
from gateway.rest.chat.views import EventStreamRenderer, response
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import problem, refusals
from gateway.runs.agents import changes, fields
from gateway.runs.errors import (
    ContentTooLarge,
    ConversationBusy,
    IdempotencyMismatch,
    InvalidAgent,
    InvalidRequest,
    NoSuchAgent,
    NoSuchConversation,
    NoSuchModel,
)
from gateway.runs.lifecycle import following
from tenants.scope import transactions

_JSON = JSONRenderer.media_type
_REFUSED = (InvalidRequest, InvalidAgent, NoSuchConversation, NoSuchAgent, NoSuchModel, ConversationBusy)


class AgentTestView(AsyncView):
    """Try an agent."""

    scope = "admin"
    parser_classes = [JSONParser]
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(
        operation_id="test_agent",
        request=AgentTestRequest,
        responses={
            (200, _JSON): run_serializers.RunBody,
            (200, EVENT_STREAM): StreamEvent,
            (202, _JSON): run_serializers.RunBody,
            **refusals(*_REFUSED, ContentTooLarge, IdempotencyMismatch),
            **{
                (status, "application/problem+json"): problem("`provider_error`: the model's provider failed.")
                for status in (429, 502)
            },
        },
    )
    async def post(self, request: Request, slug: str) -> HttpResponseBase:
        """A chat, in which the agent has the fields of `draft`; it passes the same gates, and is recorded."""
        permit(self.principal, "chat")
        headers = {name.lower(): value for name, value in request.headers.items()}
        bodies.check_length(headers, parsing.MAX_BODY_BYTES, parsing.too_large)
        body = await sync_to_async(request._request.read)(parsing.MAX_BODY_BYTES + 1)
        draft = await sync_to_async(self._draft)(slug, body)
        parsed = parsing.chat(body, headers)
        chat = replace(parsed.request, agent=slug, draft=draft)
        run, opened = await begin(self, chat)
        if opened is not None:
            return streaming(self, opened, run, wait=parsed.wait)
        await following.until_rest(self.tenant_scope, run, parsed.wait)
        return response(run)

    def _draft(self, slug: str, body: bytes) -> dict[str, Any]:
        """What the body says that the agent is to be, checked as a change of it."""
        try:
            with transactions.scope(*self.tenant_scope):
                agent = changes.found(self.principal.tenant_id, slug)
                given = bodies.json_object(body, InvalidRequest).get("draft", {})
                if not isinstance(given, dict):
                    raise InvalidRequest("draft must be an object with fields of the agent.", "draft")
                return fields.read(self.principal.tenant_id, given, agent)
        finally:
            connections["default"].close()
