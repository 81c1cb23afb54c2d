"""Calling a tool of a service: `request` builds it from arguments and identity, `answers` reads what came back, `pages`
what follows it, and `tool` is the `Tool` that the workers run.
"""
