"""How an adapter reaches its provider: connections, requests, events off the wire, and failures in our own words.

`upstream` is the entry point; it imports what providers share, and no adapter.
"""
