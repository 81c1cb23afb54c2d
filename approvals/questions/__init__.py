"""Questions of a call to its own user: asked by a worker, answered over REST, on a page or over MCP, and then the call
goes on.

Beside `approvals.requests`, and like it: the call waits in its row, nothing is held, and a run that has nothing else to
do is suspended. Imports `approvals.requests`; `approvals.apps` hands `ports` to the workers.
"""
