"""Who is in a tenant: members with their roles, and invitations.

Entry points: `memberships` (list, change a role, remove), `invitations` (make, revoke, look at, accept). The last
active owner stays one; `sql/change_member.sql` decides that under a lock. Imports `tenants.people` and what is below.
"""
