"""The rows of the table, a module for each area; each has its rows in `ROWS`."""
