"""Single sign-on: people of a tenant log in at its OpenID provider.

    start ── (the provider's pages) ── back: code ── ID token ── claims ── the person, their role ── a session

`setup` is what owners say of providers, `flow` the way of one log-in, `pages` and `settings_pages` the pages of both.
What a provider answers is believed only as far as `id_tokens` and `claims` go; who the person is, is decided by
`tenants.login.sign_on`. May import `services.oauth` and `tenants`; `gateway.rest` and `gateway.config` import it.
"""
