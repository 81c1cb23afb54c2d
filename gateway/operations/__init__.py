"""What keeps a deployment well: health, metrics, the sweeper, rounds of sealing, and the audit's commands."""
