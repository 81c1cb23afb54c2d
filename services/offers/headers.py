"""Headers that no argument and no credential may set."""

# What the connection itself needs.
OWN_HEADERS = frozenset({
    *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "upgrade", "te"),
    *("trailer", "expect", "keep-alive", "proxy-connection", "accept-encoding"),
})  # fmt: skip
# Never from a model: who calls, and how the connection is made.
REFUSED_HEADERS = OWN_HEADERS | {"authorization", "proxy-authorization", "cookie", "forwarded", "x-forwarded-for"}
