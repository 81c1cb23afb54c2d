"""Approval requests and approval rules over REST."""
