"""Tool history, receipts, the ledger and erasures over REST."""
