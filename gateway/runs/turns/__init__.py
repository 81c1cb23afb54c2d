"""One turn of a run: its model is asked within the budgets, and the calls of its answer are made.

`asking` asks the model and its fallbacks, `reserving` takes from the budgets before each asking, `ownership` says whose
tools the answer calls, and `calls` evaluates, commits, sends and awaits them. `gateway.runs.loop` uses all of it; it
imports what runs are made of (`execution`, `rows`, `view`, `prompting`), providers, budgets and the lower packages.
"""
