"""The one way to call a tool, from a suggestion to its result: evaluate, record, dispatch, execute, settle.

`proposal` evaluates calls and records them in one commit: a turn's calls on behalf of `gateway.runs`, or one call on
behalf of `invoke`, which is the entry point for every caller without a chat. `evaluation` passes a call through the
gates; `dispatch` sends its id to a worker; `in_worker` runs it there. `ports` is what this package needs of the
packages above it, which hand it in. Allowed imports: the rest of `tools`, `audit`, `tenants`.
"""
