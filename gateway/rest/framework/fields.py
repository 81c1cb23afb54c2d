"""Serializer fields that only describe."""

from typing import Any

from rest_framework import serializers


class Constant(serializers.CharField):
    """A text that is always `value`."""

    def __init__(self, value: str, **more: Any):
        self.value = value
        super().__init__(**more)


class ProblemCode(serializers.CharField):
    """One of the codes that problems have; which there are is known once every module is imported."""


class Recorded(serializers.Serializer[Any]):
    """A shape that is described, and shown as it was recorded: no row, however odd, breaks a list that holds it."""

    def to_representation(self, instance: Any) -> Any:
        """What the row holds."""
        return instance
