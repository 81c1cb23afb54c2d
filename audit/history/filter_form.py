"""The filters of a list, as its address has them."""

from typing import Any

from django import forms


class FilterForm(forms.Form):
    """Filters of which a value that makes no sense filters nothing."""

    def chosen(self) -> dict[str, Any]:
        """The sensible values that were given."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}
