"""What a tenant is protected by over REST: kill switches and limits of requests."""
