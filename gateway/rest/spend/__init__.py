"""Budgets and what was used, over REST."""
