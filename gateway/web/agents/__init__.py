"""The pages of agents under `/settings/agents/`, for owners: what REST does, through the same functions."""
