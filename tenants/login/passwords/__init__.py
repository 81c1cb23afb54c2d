"""Passwords that change: the one function that writes one, and the link by e-mail for one that is forgotten."""
