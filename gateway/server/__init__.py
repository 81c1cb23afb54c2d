"""The HTTP server of the web process: its command line, its listening socket, and its limits on what clients send.

`make up`, the image, the tests and the benchmark all start `python -m gateway.server`. `connections` limits a
request's head and time, `bodies` its body, and `refusals` has the answers to what exceeds them. Other packages use
`sockets.listen` and `bodies.bounded`.
"""
