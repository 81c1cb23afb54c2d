"""Changes of settings on record: who changed which setting from what to what, each with its ledger entry.

Packages say what changed through `tenants.people.changes`; `recording` writes it, `reading` is what people are shown.
"""
