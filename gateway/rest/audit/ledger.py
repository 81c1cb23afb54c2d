"""What the log is verified with, over REST: `/api/v1/ledger/`."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from audit.evidence import proofs
from audit.models import LedgerKey
from gateway.http import problems
from gateway.http.rendering import JSONRenderer
from gateway.rest.audit import ledger_serializers
from gateway.rest.framework.schema import ProblemSchema, problem
from tenants.login.views import WithinTenant


class NoteRenderer(BaseRenderer):
    """Answers a checkpoint's note as it is; anything else, which is a problem, as JSON."""

    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The note."""
        return data["note"] if "note" in data else JSONRenderer().render(data)


class CheckpointView(WithinTenant):
    """The newest signed head of the log."""

    scope = "history:read"
    schema = ProblemSchema()
    renderer_classes = [JSONRenderer, NoteRenderer]

    @extend_schema(
        operation_id="get_ledger_checkpoint",
        responses={
            (200, JSONRenderer.media_type): ledger_serializers.CheckpointBody,
            (200, NoteRenderer.media_type): str,
            (404, problems.CONTENT_TYPE): problem("Nothing is sealed yet."),
        },
    )
    def get(self, request: Request) -> Response:
        """As JSON, or with `Accept: text/plain` the note alone; 404 until something is sealed."""
        head = proofs.head()
        if head is None:
            raise NotFound("Nothing is sealed yet.")
        shown = {"origin": head.origin, "size": head.size, "root": bytes(head.root).hex(), "note": head.note}
        return Response(shown | {"created_at": head.created_at})


class KeysView(WithinTenant):
    """The public keys of the log, and how each came after the one before it."""

    scope = "history:read"
    schema = ProblemSchema()

    @extend_schema(operation_id="list_ledger_keys", responses=ledger_serializers.Keys)
    def get(self, request: Request) -> Response:
        """All of them, oldest first."""
        columns = ("vkey", "origin", "endorsement", "reason", "created_at")
        return Response({"keys": list(LedgerKey.objects.order_by("id").values(*columns))})
