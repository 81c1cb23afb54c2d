"""What goes on around calls under way, and is never the truth: leases, wake-ups, progress, circuits."""
