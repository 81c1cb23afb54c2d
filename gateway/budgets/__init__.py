"""Budgets: what owners allow to be spent, reserved before each turn and settled after it, and what was used.

`reservations` is how a turn asks; PostgreSQL decides, in the functions of `sql/`. `prices` knows what a model costs.
"""
