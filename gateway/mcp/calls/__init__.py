"""`tools/call`, and what clients do about a call that is under way.

calling     a call through the SDK, and what becomes of it when its client does not wait
direct      one without the SDK's streams, where the client wants nothing but the result
tasks       calls that clients come back for
progress    how far a call is
inflight    which request made which call, so that the request can be cancelled
"""
