"""What people do with what models keep for them: read, find, change, delete and export their notes, tasks and files,
read, find, delete and export what is remembered, look at their canvases.

Each function is inside the caller's tenant scope (`transactions.scope`), whose row security shows nobody else's; the
filters here say so once more. May import `tools.models`, `tools.stores`, `tools.files` and what is below.
"""
