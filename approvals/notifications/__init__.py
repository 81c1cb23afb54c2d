"""Who is told of approvals: events, the outbox, and delivery by e-mail and webhook."""
