"""Tool calls, and what the ledger commits to about them; `recorder` and `begun` are their only writers."""
