"""A serializer field that only describes."""

from typing import Any

from rest_framework import serializers


class Constant(serializers.CharField):
    """A text that is always `value`."""

    def __init__(self, value: str, **more: Any):
        self.value = value
        super().__init__(**more)
