"""What a service says it offers, read into definitions of tools that are checked, bounded and hashed.

`definition` is one tool, whatever kind of service it is of; `descriptor` reads descriptors v1 and v2, and `openapi`
reads OpenAPI documents. `placing` says where each argument of an HTTP tool goes. Nothing here asks a network or a
database.
"""
