"""Services over REST: `/api/v1/services/`, for owners."""
