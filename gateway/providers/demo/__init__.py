"""The offline demo model: a few rules, no AI."""
