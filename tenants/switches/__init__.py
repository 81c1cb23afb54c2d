"""Kill switches: what a tenant's owners or the operator have stopped at once.

`on` says what a switch stops, `changes` puts one on and off, `targets` checks what it is about, `errors` has the
refusals. A member's rights come with the switches that are on (`switches_on`), so that a change of one ends what a
process remembers; the statement that claims a call asks by itself (`killed`). The table belongs to this package since
the claim is a function of `audit`. Imports `tenants.people` and below.
"""
