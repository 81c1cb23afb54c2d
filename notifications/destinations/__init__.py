"""Where people have their messages sent: destinations of their own, each verified once, over the known channels.

`changes` makes and removes them, `verifying` proves that they are their person's, `sending` writes what goes to them,
`delivering` says to the outbox's delivery what is to be delivered and where. All within the person's own tenant scope.
"""
