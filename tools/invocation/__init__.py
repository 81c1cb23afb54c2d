"""From a suggested call to its result: evaluate, dispatch, execute, settle.

`evaluation` passes a call through the gates; `dispatch` sends its id to a worker; `execution` runs it there.
"""
