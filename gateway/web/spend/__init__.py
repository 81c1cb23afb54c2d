"""The pages under `/settings/spend/`, which do what REST does, through the same functions."""
