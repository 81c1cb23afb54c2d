"""The tools that read the web, one file each."""
