"""The ways to deliver a notification, a folder each; `registry` names them, and `interface` says what one is.

A channel imports `notifications.errors`, `interface`, `tools.network` and `tenants`, and no other channel.
"""
