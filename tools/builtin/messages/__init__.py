"""The tools that send something to somebody, one file each."""
