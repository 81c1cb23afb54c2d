"""The pages of schedules under `/settings/schedules/`: what REST does, through the same functions."""
