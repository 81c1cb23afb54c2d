"""The pages of tools under `/settings/tools/`, for owners: what REST does, through the same functions."""
