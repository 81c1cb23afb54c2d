"""Tool calls and what the ledger commits to of them; `recorder` is their only writer."""
