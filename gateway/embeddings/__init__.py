"""Search by meaning: which model makes vectors for a tenant, what of theirs is embedded in the background, and the
vector of what is searched for.

`rounds` is asked by beat, `queries` by the tools that search. May import `gateway.runs`, `gateway.budgets`,
`gateway.providers` and what is below them.
"""
