"""Tells people and programs what happened: events come in with a payload, channels deliver them.

Publishers declare their events (`events.declare`) and write them in the transaction of what happened (`outbox.write`).
A channel is a folder in `channels/` and one line in `channels/registry.py`. The package imports `tools`, `audit` and
`tenants`; it knows nothing of approvals and runs.
"""
