"""The shapes of providers and models, for the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from gateway.providers.routing.models import ModelProvider

KINDS = ModelProvider.Kind.choices


class ProviderChange(serializers.Serializer[Any]):
    """What can be changed of a provider."""

    kind = serializers.ChoiceField(choices=KINDS, required=False)
    base_url = serializers.CharField(
        max_length=2048, required=False, allow_blank=True, help_text="Empty: the vendor's own address."
    )
    api_key = serializers.CharField(
        required=False, allow_blank=True, help_text="Stored encrypted, and never shown again."
    )
    models = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        allow_null=True,
        help_text="The models that are listed; null: those that are known of its kind.",
    )
    enabled = serializers.BooleanField(required=False)
    version = serializers.IntegerField(required=False, help_text="Refused when it has another one by now.")


class ProviderRequest(ProviderChange):
    """A new provider."""

    slug = serializers.CharField(max_length=32, help_text="Its models are named slug/model.")
    kind = serializers.ChoiceField(choices=KINDS)


@extend_schema_serializer(component_name="ModelProvider")
class Provider(serializers.Serializer[Any]):
    """A provider of the tenant's own."""

    slug = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    base_url = serializers.CharField(allow_blank=True)
    has_key = serializers.BooleanField()
    models = serializers.ListField(child=serializers.CharField(), allow_null=True)
    enabled = serializers.BooleanField()
    version = serializers.IntegerField(help_text="Grows with each change.")
    tested_at = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField(allow_blank=True, help_text="What its last test found wrong.")
    updated_at = serializers.DateTimeField()


class Providers(serializers.Serializer[Any]):
    """All of them, always on one page."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Provider(many=True)


class ProviderTest(serializers.Serializer[Any]):
    """What came of asking a provider for its models."""

    ok = serializers.BooleanField()
    status = serializers.IntegerField(allow_null=True, help_text="The HTTP status, if it answered.")
    ms = serializers.IntegerField()
    detail = serializers.CharField()
    models = serializers.ListField(child=serializers.CharField(), help_text="Those that it listed.")


class Price(serializers.Serializer[Any]):
    """What a model costs, in US dollars per million tokens, as decimal numbers."""

    model = serializers.CharField(max_length=240, help_text="provider/model, in which * is any text.")
    input = serializers.CharField()
    output = serializers.CharField()
    cached = serializers.CharField(required=False, allow_null=True, help_text="Of cached input; null: as other input.")


class ModelsChange(serializers.Serializer[Any]):
    """What a tenant says of models."""

    allowed = serializers.ListField(
        child=serializers.CharField(max_length=240),
        required=False,
        allow_null=True,
        help_text="Patterns such as openai/*; null: every model; empty: none.",
    )
    fallbacks = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="By pattern, the models that are asked in order where one fails.",
    )
    prices = Price(many=True, required=False)
    version = serializers.IntegerField(required=False, help_text="Refused when it has another one by now.")


class OperatorsModels(serializers.Serializer[Any]):
    """What the operator says of models at the operator's providers."""

    providers = serializers.ListField(child=serializers.CharField(), help_text="Those that the tenant may use.")
    allowed = serializers.ListField(child=serializers.CharField(), allow_null=True)
    prices = Price(many=True)


@extend_schema_serializer(component_name="ModelRules")
class Models(serializers.Serializer[Any]):
    """What is said of models, by the tenant and by the operator."""

    allowed = serializers.ListField(child=serializers.CharField(), allow_null=True)
    fallbacks = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    prices = Price(many=True)
    version = serializers.IntegerField()
    available = serializers.ListField(child=serializers.CharField(), help_text="The known models that members may use.")
    operator = OperatorsModels()
