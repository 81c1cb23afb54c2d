"""What tools keep for the caller: their notes, tasks and memories, over REST.

May import `tools.keeping` and `gateway.rest.framework`.
"""
