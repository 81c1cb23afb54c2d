"""Which databases of Valkey are brokers of stacks with settings of their own; tests name those below."""

# More than there are such stacks in one run: two that shared one would take each other's messages.
BROKERS = range(8, 512)
