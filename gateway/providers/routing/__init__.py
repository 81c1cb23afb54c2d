"""Who answers as a model for a tenant: named providers with their keys, the models that are allowed, fallbacks, prices.

`resolution` is what runs ask; `settings` is what owners and operators do. The environment's providers
(`gateway.providers.registry`) are the operator's too.
"""
