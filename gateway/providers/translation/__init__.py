"""What every adapter needs to put a prompt into a provider's terms: names, call ids, managed tools, foreign fields.

Pure functions over `gateway.providers.interface`: nothing here reaches a network or a database.
"""
