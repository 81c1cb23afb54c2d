"""What is outside and offers tools: HTTP APIs with a descriptor or an OpenAPI document, as tools of one tenant.

`offers` reads what a service says it offers, into definitions that are checked and hashed; `changes` are what owners do
(add, refresh, accept, switch on); `catalogue` is how a tenant's tools reach its members' rights and the workers;
`execution` makes the call. Nothing here is asked of a service while somebody lists or calls tools: what is listed is
the last snapshot. Allowed imports: `tools`, `audit`, `tenants`.
"""
