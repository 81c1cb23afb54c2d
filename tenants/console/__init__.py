"""The pages under `/settings/` with which owners run their tenant's people, and the page that takes an invitation.

They do what REST does, through the same functions (`tenants.members`). Imports `tenants.me` and what is below it.
"""
