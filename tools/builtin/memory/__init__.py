"""The tools that remember and recall, one file each."""
