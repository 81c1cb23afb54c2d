"""Schedules: when a run of a person's begins by itself, and each time at which one did or did not.

`cron` says when, `changes` is what people do, `store` what the built-in tools do, and `firing` begins the runs. May
import `gateway.runs` and what is below it; `gateway.models` imports the models of here.
"""
