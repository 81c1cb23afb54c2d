"""Approval rules: what they match, what owners do to them, and a dry run over the past."""
