"""Benchmarks of one part each, which run alone."""
