"""What a run of the benchmarks says: its report for people, its targets, and the baseline beside it."""
