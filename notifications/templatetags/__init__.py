"""What every page shows of the inbox."""
