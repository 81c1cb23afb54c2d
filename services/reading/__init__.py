"""What services offer, read again from where it comes from: `sources` for a snapshot, `discovery` for an address that
somebody pasted, `drift` for what was accepted once.
"""
