"""What every process starts with: the environment, log lines, request ids, garbage collection. It imports nothing."""
