"""The history as a file: the view (`pages`), how many run at a time (`slots`), the process that writes long ones
(`process`), their parts (`batches`), and JSONL and CSV (`formats`)."""
