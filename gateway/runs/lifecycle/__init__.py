"""A run's life, as clients, calls and workers have to do with it.

    beginning   writes a run and starts its driver: for a client's request, or for a call that begins a child
    driving     owns the runs that this process drives: their tasks and leases, and who takes over what nobody drives
    following   shows any run, and keeps what it shows true, whoever drives it
    stopping    cancels a run for good, or only stops to drive here because the process ends

`driving` alone writes its registry, `driven_here`; `following` and `stopping` read it. What a driver does is in
`gateway.runs.loop`.
"""
