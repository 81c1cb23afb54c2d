"""What somebody with the owner's login, and every trigger off, can do to the audit: each says what it was done to."""
