"""What a person is told inside Toolgate: entries with an unread state, and reminders that become entries at their time.

`entries` writes and reads them, `live` says that there is something new. Every function works within the person's own
tenant scope, whose row security shows nobody else's rows; the filters here say so once more.
"""
