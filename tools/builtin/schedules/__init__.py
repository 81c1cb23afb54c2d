"""The tools that set up work for later, one file each."""
