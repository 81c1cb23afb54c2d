"""A call in the worker that took it: it is claimed, run, asks its user where it must, and is settled.

`execution` is the entry point, `outcomes` says what is recorded of the end. It imports what is under `tools.invocation`
(`live`, `lookup`, `ports`), and never what evaluates or sends calls.
"""
