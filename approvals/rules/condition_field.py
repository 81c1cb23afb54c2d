"""The field of a form in which people type a condition."""

from typing import Any

from django import forms

from approvals.rules import conditions
from approvals.rules.conditions import InvalidCondition


class ConditionField(forms.CharField):
    """JSON, read as strictly as a model's arguments; None when nothing was typed."""

    def clean(self, value: Any) -> Any:
        """The JSON value. Raises ValidationError."""
        try:
            return conditions.read(super().clean(value))
        except InvalidCondition as error:
            raise forms.ValidationError(str(error)) from None
