"""Why a model cannot be used, and why a change of providers and models is refused, as one tree.

Refused                     the answer's HTTP status, code and words
├── ModelNotAllowed         403 model_not_allowed
├── NoSuchProvider          404 not_found
├── InvalidProvider         400 invalid_provider
├── InvalidModels           400 invalid_models
├── ProviderTaken           409 slug_taken
├── ProviderFailed          400 provider_failed
└── ChangedMeanwhile        409 changed_meanwhile
"""

from tenants.errors import Refused


class ModelNotAllowed(Refused):
    """The tenant's members may not use the model."""

    status = 403
    code = "model_not_allowed"

    def __init__(self, name: str, who: str = "an owner of this tenant, under Settings, Models"):
        super().__init__(f"The model {name[:100]!a} is not allowed here. It can be allowed by {who}.", "model")


class OtherModelsAsked(ModelNotAllowed):
    """A field of the request would have the provider choose another model than the one that was checked."""

    def __init__(self, field: str):
        super().__init__(field)
        self.detail = (
            f"The field {field[:100]!a} can have the provider choose another model, and not every model is allowed "
            "here. Leave it out, and name one model. What is allowed, an owner of this tenant says under Settings, "
            "Models."
        )
        self.field = field[:100]


class NoSuchProvider(Refused):
    """The tenant has no such provider of its own."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such provider of this tenant's own.")


class InvalidProvider(Refused):
    """What was sent makes no provider."""

    code = "invalid_provider"


class InvalidModels(Refused):
    """What was sent cannot be said of models."""

    code = "invalid_models"


class ProviderTaken(Refused):
    """There is a provider of that slug."""

    status = 409
    code = "slug_taken"

    def __init__(self, slug: str):
        super().__init__(f"There is a provider {slug} already. Change that one, or choose another slug.", "slug")


class ProviderFailed(Refused):
    """The provider was asked for its models, and did not answer with them; nothing was saved."""

    code = "provider_failed"


class ChangedMeanwhile(Refused):
    """Somebody else has changed it since it was read."""

    status = 409
    code = "changed_meanwhile"

    def __init__(self, present: int):
        super().__init__(
            f"Somebody else has changed this since you read it: it has the version {present} now. Read it again.",
            "version",
        )
        self.more = {"version": present}
