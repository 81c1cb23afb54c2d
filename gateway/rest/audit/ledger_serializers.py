"""The shapes of receipts, and of what the log is verified with."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from approvals.models import ENDED, ApprovalDecision, Question
from audit.models import LedgerEntry, Origin, Status
from gateway.rest.approvals.request_serializers import VIA
from gateway.rest.call_serializers import GateAnswer, SideEffect


class ReceiptDecision(serializers.Serializer[Any]):
    """What one human decided."""

    user_id = serializers.UUIDField()
    username = serializers.CharField(allow_null=True, help_text="Null once they have left the tenant.")
    verdict = serializers.ChoiceField(choices=ApprovalDecision.Verdict.choices)
    reason = serializers.CharField(allow_blank=True)
    via = serializers.ChoiceField(choices=VIA)
    created_at = serializers.DateTimeField()


class ReceiptApproval(serializers.Serializer[Any]):
    """The approval that a call waited for."""

    id = serializers.UUIDField()
    decisions = ReceiptDecision(many=True)


class ReceiptAnswer(serializers.Serializer[Any]):
    """What became of a question to the call's user; what was asked and answered only by its hash."""

    id = serializers.UUIDField()
    round = serializers.IntegerField()
    position = serializers.IntegerField()
    status = serializers.ChoiceField(choices=ENDED)
    action = serializers.ChoiceField(choices=Question.Action.choices)
    question_hash = serializers.CharField(allow_blank=True, help_text="Empty once it was erased.")
    content_hash = serializers.CharField(allow_null=True)
    via = serializers.CharField(allow_null=True, help_text="api, page or mcp; null where nobody answered.")
    answered_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="LedgerEntry")
class LedgerEntryBody(serializers.Serializer[Any]):
    """A ledger entry of a receipt."""

    seq = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=LedgerEntry.Kind.choices)
    version = serializers.IntegerField()
    record_id = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    leaf_index = serializers.IntegerField(allow_null=True)
    commitment = serializers.CharField(help_text="64 hexadecimal digits.")
    leaf = serializers.CharField(allow_null=True, help_text="What stands in the log, to the byte; null until sealed.")
    statement = serializers.CharField(
        allow_null=True, help_text="What was committed to, to the byte; null once it was erased."
    )


@extend_schema_serializer(component_name="LeafProof")
class Proof(serializers.Serializer[Any]):
    """That a leaf is in the log."""

    leaf_index = serializers.IntegerField()
    leaf = serializers.CharField()
    hashes = serializers.ListField(child=serializers.CharField(), help_text="The RFC 6962 inclusion proof.")


class SigningKey(serializers.Serializer[Any]):
    """A public key of the log."""

    vkey = serializers.CharField(help_text="A C2SP verifier key.")
    origin = serializers.CharField()
    endorsement = serializers.CharField(allow_null=True, help_text="A note about it, signed with the key before it.")


class InclusionProof(serializers.Serializer[Any]):
    """That all of a call's entries are in the log under one signed head."""

    checkpoint = serializers.CharField(help_text="A C2SP signed note.")
    origin = serializers.CharField()
    tree_size = serializers.IntegerField()
    root = serializers.CharField()  # type: ignore[assignment]
    keys = SigningKey(many=True)  # type: ignore[assignment]
    proofs = Proof(many=True)


class ReceiptErasure(serializers.Serializer[Any]):
    """When and why a payload went."""

    when = serializers.DateTimeField(allow_null=True)
    scope = serializers.CharField(allow_null=True)
    by = serializers.UUIDField(allow_null=True)
    username = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class Receipt(serializers.Serializer[Any]):
    """What was done, in hashes, and the proof of it."""

    call_id = serializers.UUIDField()
    tool = serializers.CharField()
    origin = serializers.ChoiceField(choices=Origin.choices, help_text="How the call came in.")
    status = serializers.ChoiceField(choices=Status.choices)
    params_hash = serializers.CharField(allow_null=True)
    output_hash = serializers.CharField(allow_null=True)
    latency_ms = serializers.IntegerField(allow_null=True)
    side_effects = SideEffect(many=True)
    decision = GateAnswer(many=True, help_text="Each gate's answer, in order.")
    resumed_decision = GateAnswer(
        many=True, allow_null=True, help_text="Each gate's answer when it went on, after an approval or an answer."
    )
    approval = ReceiptApproval(allow_null=True)
    answers = ReceiptAnswer(many=True, help_text="What its user answered to its questions.")
    entries = LedgerEntryBody(many=True)
    sealed = serializers.BooleanField()
    inclusion_proof = InclusionProof(allow_null=True)
    commitment_key = serializers.CharField(allow_null=True, help_text="64 hexadecimal digits; null once erased.")
    erased = ReceiptErasure(allow_null=True)


@extend_schema_serializer(component_name="Checkpoint")
class CheckpointBody(serializers.Serializer[Any]):
    """The newest signed head of the log."""

    origin = serializers.CharField()
    size = serializers.IntegerField()
    root = serializers.CharField(help_text="64 hexadecimal digits.")  # type: ignore[assignment]
    note = serializers.CharField(help_text="A C2SP signed note.")
    created_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="LedgerKey")
class Key(SigningKey):
    """A public key of the log, and since when it is one."""

    reason = serializers.CharField(allow_blank=True, help_text="Why a new log was begun with it.")
    created_at = serializers.DateTimeField()


@extend_schema_serializer(component_name="LedgerKeyList")
class Keys(serializers.Serializer[Any]):
    """All of them, oldest first."""

    keys = Key(many=True)  # type: ignore[assignment]
