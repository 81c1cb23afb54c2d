"""What measures, and what is measured: a stack of processes, its fake provider, and the load generator."""
