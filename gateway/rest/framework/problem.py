"""The shape of a refusal: RFC 9457 problem+json, for answers and for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from gateway.rest.framework.fields import ProblemCode


class Problem(serializers.Serializer[Any]):
    """RFC 9457 problem+json."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = ProblemCode(help_text="What is wrong, for programs.")
    detail = serializers.CharField(help_text="What is wrong, for people.")
    field = serializers.CharField(required=False, help_text="The field at fault.")
    errors = serializers.JSONField(  # type: ignore[assignment]
        required=False, help_text="Where several fields are at fault: what is wrong with each."
    )
    run_id = serializers.UUIDField(required=False, help_text="The run that failed.")
