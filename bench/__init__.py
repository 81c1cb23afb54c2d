"""The benchmarks: what Toolgate does on this machine, beside what its pieces alone do in the same run."""
