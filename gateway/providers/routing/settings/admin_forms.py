"""Providers and models in the admin's forms, checked by the functions that REST uses."""

from typing import Any

from asgiref.sync import async_to_sync
from django import forms

from gateway.providers.routing.models import ModelProvider, ModelSettings
from gateway.providers.routing.settings import rules, testing, wanted
from tenants.errors import Refused
from tenants.people import encryption


class ProviderForm(forms.ModelForm):  # type: ignore[type-arg]
    """A provider; its key is only ever written, and tested before it is saved."""

    new_key = forms.CharField(
        required=False,
        strip=True,
        label="API key",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="It is stored encrypted, and never shown again. Empty: the present one stays.",
    )

    class Meta:
        model = ModelProvider
        fields = ("tenant", "slug", "kind", "base_url", "listed", "enabled")

    def clean(self) -> dict[str, Any]:
        """As over REST."""
        values = super().clean() or {}
        if self.errors:
            return values
        stored = ModelProvider.objects.filter(pk=self.instance.pk).first()
        named = ("slug", "kind", "base_url", "enabled")
        given: dict[str, Any] = {name: values[name] for name in named if name in values}
        given["models"] = values["listed"] or None
        if values["new_key"]:
            given["api_key"] = values["new_key"]
        try:
            own = values.get("tenant") is not None
            wished = wanted.new(given, own=own) if stored is None else wanted.changed(stored, given)
            tested = async_to_sync(testing.demand)(wished)
        except Refused as refused:
            raise forms.ValidationError(refused.detail) from None
        if wished.key_given:
            self.instance.api_key = encryption.encrypt(wished.api_key) if wished.api_key else ""
        values["base_url"] = wished.base_url
        self.instance.problem = "" if tested.ok else tested.detail
        return values


class ModelSettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    """What is said of models."""

    class Meta:
        model = ModelSettings
        fields = ("tenant", "allowed", "fallbacks", "prices")

    def clean(self) -> dict[str, Any]:
        """As over REST."""
        values = super().clean() or {}
        if not self.errors:
            try:
                values |= rules.checked({name: values[name] for name in rules.FIELDS})
            except Refused as refused:
                raise forms.ValidationError(refused.detail) from None
        return values
