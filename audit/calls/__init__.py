"""Tool calls, and what the ledger commits to about them; `recorder` is their only writer."""
