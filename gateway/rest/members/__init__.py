"""Members and invitations of a tenant."""
