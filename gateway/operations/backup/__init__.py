"""One file that holds a whole Toolgate: database, keys and signed heads; made while it runs, restored into nothing.

`making.make` and `restoring.restore` are what the commands call. May import from everything below the gateway.
"""
