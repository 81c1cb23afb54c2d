"""The pages of services under `/settings/services/`, for owners: what REST does, through the same functions."""
