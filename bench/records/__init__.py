"""What a long history costs: to read, to download, to seal and to verify."""
