"""The approver's queue and the rules as pages, and the queue's socket."""
