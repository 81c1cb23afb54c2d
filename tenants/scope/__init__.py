"""Row-level security: the SQL of it, the database roles and logins, and transactions within one tenant."""
