"""OAuth 2 as a client, over the egress guard: what a server says of itself (`discovery`), its clients (`registration`),
its tokens (`grants`), and the way through a browser (`authorization`). Nothing here knows a tenant or a database.
"""
