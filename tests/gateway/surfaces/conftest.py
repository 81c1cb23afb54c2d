"""A server over real HTTP whose answers a test decides, for the official SDKs to ask."""

from tests.gateway.providers.conftest import fake

__all__ = ["fake"]
