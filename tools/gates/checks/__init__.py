"""The gates, a file each; `tools.gates.order` has their order."""
