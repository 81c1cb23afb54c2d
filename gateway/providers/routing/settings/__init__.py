"""What owners and the operator say about providers and models, as it is written: read, tested, checked and recorded.

`changes` writes providers, `rules` what is allowed of models; both within the caller's transaction. Runs read it in
`gateway.providers.routing.resolution`.
"""
