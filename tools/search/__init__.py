"""Web search engines: the one that the operator configured, or the bundled demo set; and what searches of a user's own
things share."""
