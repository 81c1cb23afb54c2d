"""Toolgate as the OAuth 2.1 authorization server of its own `/mcp`: a client asks a member, and gets tokens for them.

Only the authorization code with PKCE and the refresh token are granted, to public clients, for one resource. Clients
and the reading of requests are those of django-allauth's `idp.oidc` and oauthlib. Grants and tokens are in
`tenants.login.clients`: those of allauth know no tenant, and its codes and refresh tokens can be used twice at once.

`views` has the endpoints. May import `gateway.http` and the packages below; `gateway.config` imports it.
"""
