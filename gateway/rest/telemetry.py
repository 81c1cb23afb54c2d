"""What clients that run their own loop report: `POST /api/v1/telemetry/tool-calls`."""

from typing import Any

from asgiref.sync import sync_to_async
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.canonical import NotCanonical
from audit.models import Status
from gateway.http.drf import JSONParser
from gateway.rest.framework import body
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import refusals
from gateway.runs.errors import ContentTooLarge, IdempotencyMismatch, InvalidRequest
from services.execution import answers
from tools.invocation import reporting
from tools.invocation.reporting import Report

MAX_BODY_BYTES, MOST = 4 * 1024 * 1024, 100
MAX_NAME, MAX_CLIENT = 200, 100
MAX_MILLISECONDS = 2**31 - 1
_FIELDS = frozenset({"id", "tool", "input", "output", "error", "execution_time_ms"})


class ReportedCall(serializers.Serializer[Any]):
    """One call that the client has made."""

    id = serializers.CharField(
        required=False, max_length=MAX_NAME, help_text="What the client calls it: reported again, it is the same call."
    )
    tool = serializers.CharField(max_length=MAX_NAME)
    input = serializers.DictField()
    output = serializers.JSONField(required=False, allow_null=True)
    error = serializers.CharField(required=False, allow_null=True, help_text="Why it failed, in words.")
    execution_time_ms = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=MAX_MILLISECONDS
    )


class ReportRequest(serializers.Serializer[Any]):
    """Calls that a client has made."""

    client = serializers.CharField(required=False, allow_blank=True, max_length=MAX_CLIENT)
    calls = ReportedCall(many=True, help_text=f"1 to {MOST}.")


class RecordedCall(serializers.Serializer[Any]):
    """A call as it is recorded."""

    id = serializers.UUIDField()
    tool = serializers.CharField()
    status = serializers.ChoiceField(choices=[Status.SUCCESS.value, Status.ERROR.value])


class RecordedCalls(serializers.Serializer[Any]):
    """The calls, in the order of the reports."""

    results = RecordedCall(many=True)


class ReportedCallsView(AsyncView):
    """Calls that Toolgate has not made."""

    parser_classes = [JSONParser]

    @extend_schema(
        operation_id="report_tool_calls",
        request=ReportRequest,
        responses={201: RecordedCalls, **refusals(InvalidRequest, ContentTooLarge, IdempotencyMismatch)},
    )
    async def post(self, request: Request) -> Response:
        """Record what the caller's client says that it has called itself, all of it or nothing."""
        given = _read(await sync_to_async(body.within)(request, MAX_BODY_BYTES, "calls"))
        try:
            calls = await reporting.report(self.tenant_scope, _reports(given), _client(given))
        except NotCanonical as error:
            raise InvalidRequest(f"The body holds a value that cannot be recorded: {error}", "calls") from None
        return Response(
            {"results": [{"id": call.id, "tool": call.tool_name, "status": call.status} for call in calls]}, 201
        )


def _read(raw: bytes) -> dict[str, Any]:
    try:
        given = answers.DECODER.decode(raw.decode())
    except (ValueError, RecursionError):
        raise InvalidRequest("The body is not JSON in UTF-8.") from None
    if not isinstance(given, dict):
        raise InvalidRequest("The body must be an object.")
    if answers.depth(given) > answers.MAX_DEPTH:
        raise InvalidRequest(f"The body is nested more than {answers.MAX_DEPTH} levels deep.")
    if unknown := sorted(set(given) - {"client", "calls"}):
        raise InvalidRequest(f"{answers.storable(unknown[0][:100])} is not known here.", "calls")
    cleaned: dict[str, Any] = answers.cleaned(given, {})
    return cleaned


def _client(given: dict[str, Any]) -> str:
    client = given.get("client", "")
    if not isinstance(client, str) or len(client) > MAX_CLIENT or not client.isprintable():
        raise InvalidRequest(f"client must be up to {MAX_CLIENT} printable characters.", "client")
    return client


def _reports(given: dict[str, Any]) -> list[Report]:
    calls = given.get("calls")
    if not isinstance(calls, list) or not 1 <= len(calls) <= MOST:
        raise InvalidRequest(f"calls must be a list of 1 to {MOST} calls.", "calls")
    return [_report(each, f"calls.{number}") for number, each in enumerate(calls)]


def _report(said: Any, where: str) -> Report:
    if not isinstance(said, dict) or not set(said) <= _FIELDS:
        raise InvalidRequest(f"A call has the fields {', '.join(sorted(_FIELDS))}, and no others.", where)
    for name in ("tool", "id"):
        text = said.get(name)
        if (name == "tool" or text is not None) and not (
            isinstance(text, str) and 0 < len(text) <= MAX_NAME and text.isprintable()
        ):
            raise InvalidRequest(f"{name} must be 1 to {MAX_NAME} printable characters.", f"{where}.{name}")
    if not isinstance(said.get("input"), dict):
        raise InvalidRequest("input must be an object.", f"{where}.input")
    error, milliseconds = said.get("error"), said.get("execution_time_ms")
    if error is not None and not isinstance(error, str):
        raise InvalidRequest("error must be text.", f"{where}.error")
    if error is not None and said.get("output") is not None:
        raise InvalidRequest("A call has either an output or an error.", where)
    if milliseconds is not None and (
        not isinstance(milliseconds, int) or isinstance(milliseconds, bool) or not 0 <= milliseconds <= MAX_MILLISECONDS
    ):
        raise InvalidRequest("execution_time_ms must be a whole number of milliseconds.", f"{where}.execution_time_ms")
    return Report(said["tool"], said["input"], said.get("id"), said.get("output"), error, milliseconds)
