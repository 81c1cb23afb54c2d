"""Calling a tool without a chat: `POST /api/v1/tools/{name}/calls`."""

from typing import Any

from asgiref.sync import sync_to_async
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from audit.models import Origin
from gateway.http.drf import JSONParser
from gateway.http.rendering import JSONRenderer
from gateway.rest import call_serializers
from gateway.rest.chat import parsing
from gateway.rest.framework import body
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import refusals
from gateway.runs.errors import ContentTooLarge, IdempotencyMismatch, InvalidRequest
from gateway.runs.view import call_body
from tools.errors import ToolValidationError
from tools.invocation.invoke import invoke
from tools.schemas import arguments

# The body is read as strictly as a model's arguments, and may hold as much.
MAX_BODY_BYTES = arguments.MAX_BYTES
_JSON = JSONRenderer.media_type
_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": parsing.MAX_KEY_CHARACTERS},
    OpenApiParameter.HEADER,
    description="For 24 hours, the same key, tool and arguments are the same call.",
)


class ToolCallView(AsyncView):
    """A call of a tool, without a chat."""

    parser_classes = [JSONParser]

    @extend_schema(
        operation_id="call_tool",
        request=call_serializers.CallRequest,
        parameters=[_KEY],
        responses={
            (200, _JSON): OpenApiResponse(
                call_serializers.CallWithoutChat,
                description="The call is final: it succeeded, failed, or was refused (`status` is `error`).",
            ),
            (202, _JSON): OpenApiResponse(
                call_serializers.CallWithoutChat,
                description="The call waits for a human, or still runs; ask for it at `/api/v1/tool-calls/{id}/`.",
            ),
            **refusals(InvalidRequest, ContentTooLarge, IdempotencyMismatch),
        },
    )
    async def post(self, request: Request, name: str) -> Response:
        """Call the tool by the caller's own rights, and answer once the call is final, or has been waited for."""
        given = _read(await sync_to_async(body.within)(request, MAX_BODY_BYTES, "arguments"))
        call = await invoke(
            self.tenant_scope,
            name,
            given["arguments"],
            origin=Origin.API,
            wait=_wait(given),
            idempotency_key=parsing.idempotency_key(request.headers.get("Idempotency-Key")),
        )
        return Response({**call_body(call), "origin": call.origin}, 200 if call.final else 202)


def _read(raw: bytes) -> dict[str, Any]:
    try:
        given = arguments.parse(raw.decode())
    except UnicodeDecodeError:
        raise InvalidRequest("The body is not UTF-8.") from None
    except ToolValidationError as error:
        raise InvalidRequest(f"The body cannot be taken. {error.message}", error.field) from None
    for name in given:
        if name not in ("arguments", "wait"):
            raise InvalidRequest(f"{arguments.shown(name)} is not known here.", arguments.shown(name))
    if not isinstance(given.get("arguments"), dict):
        raise InvalidRequest("arguments must be an object.", "arguments")
    return given


def _wait(given: dict[str, Any]) -> float | None:
    return None if given.get("wait") is None else parsing.wait(given)
