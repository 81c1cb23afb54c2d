"""People's accounts at services: the way through a browser that connects one (`flow`), what is connected (`listing`),
and telling servers what is not used any more (`revocation`).
"""
