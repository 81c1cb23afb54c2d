"""Approval requests: how a call comes to wait, who may decide, what they decide, and how the call goes on."""
