"""The webhook of the alert level: `/api/v1/alert-level/webhook/` for owners, and the address that takes messages."""

import uuid
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from approvals.errors import NoSuchWebhook
from approvals.models import AlertWebhook
from approvals.rules import alert_webhook
from gateway.http import bodies, problems
from gateway.rest.framework.schema import ProblemSchema, refusals
from gateway.runs.errors import ContentTooLarge, InvalidRequest
from tenants.errors import Refused
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import WithinTenant

MAX_BYTES = 4096


@extend_schema_serializer(component_name="AlertWebhook")
class WebhookSerializer(serializers.Serializer[Any]):
    """Where messages are sent, without the secret."""

    url = serializers.URLField()
    created_at = serializers.DateTimeField(help_text="When the secret was made.")


@extend_schema_serializer(component_name="NewAlertWebhook")
class NewWebhookSerializer(WebhookSerializer):
    """With the secret, which is shown this once."""

    secret = serializers.CharField(help_text='"whsec_" and 32 bytes in base64.')


class AlertWebhookView(WithinTenant, APIView):
    """By what another system sets the tenant's alert level."""

    schema = ProblemSchema()
    scope = "admin"

    @extend_schema(operation_id="get_alert_webhook", responses={200: WebhookSerializer, **refusals(NoSuchWebhook)})
    def get(self, request: Request) -> Response:
        """Where messages are sent."""
        return Response(_shown(alert_webhook.find(self.principal.tenant_id)))

    @extend_schema(
        operation_id="create_alert_webhook",
        request=None,
        responses={201: NewWebhookSerializer, **refusals(ReauthenticationRequired)},
    )
    def post(self, request: Request) -> Response:
        """Make a new secret, which is in this answer alone; an older one ends."""
        made, secret = alert_webhook.make(self.principal.tenant_id)
        return Response({**_shown(made), "secret": secret}, 201, headers={"Cache-Control": "no-store"})

    @extend_schema(operation_id="delete_alert_webhook", responses={204: None, **refusals(NoSuchWebhook)})
    def delete(self, request: Request) -> Response:
        """Messages are refused from now on; the level stays as it is."""
        alert_webhook.remove(self.principal.tenant_id)
        return Response(status=204)


@csrf_exempt
@require_POST
def receive(request: HttpRequest, tenant_id: uuid.UUID) -> HttpResponse:
    """What a signed message says of the tenant's alert level."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        bodies.check_length(headers, MAX_BYTES, _too_large)
        body = request.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise _too_large()
        level = alert_webhook.receive(tenant_id, headers, body, _read)
    except Refused as refusal:
        return problems.answer(problems.refused(refusal), refusal.status)
    # The last message once more, whose answer may have been lost.
    content = {"status": "known"} if level is None else {"status": "set", "level": level.level}
    return HttpResponse(orjson.dumps(content), content_type="application/json")


def _shown(webhook: AlertWebhook) -> dict[str, Any]:
    return WebhookSerializer({"url": alert_webhook.url(webhook.tenant_id), "created_at": webhook.created_at}).data


def _read(body: bytes) -> dict[str, Any]:
    return bodies.json_object(body, InvalidRequest)


def _too_large() -> Refused:
    return ContentTooLarge(f"A message has at most {MAX_BYTES:,} bytes.")
