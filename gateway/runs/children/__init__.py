"""The runs that other runs begin: started by a call, and waited for by it.

`starting` is the handle of a call that begins a child, `ending` settles that call when the child ends, `cancelling`
ends what nobody waits for, and `below` reads what is under a run. To take a parked parent over again is the
lifecycle's, which hands that in (`waking`).
"""
