"""The pages under `/settings/models/`, for owners: providers, which models are allowed, fallbacks, prices."""
