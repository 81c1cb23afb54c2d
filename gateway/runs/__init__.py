"""Conversations, runs and turns: their rows, their state machine and the loop that drives them.

Start at `lifecycle` (beginning, driving, following, stopping), then `loop` and `turns`; `repository` and
`reading` have the SQL. It imports providers and the lower packages, and knows nothing of HTTP.
"""
