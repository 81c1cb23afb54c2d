"""Other people's APIs under `/v1`: pure translations, and one server for them.

`interface` says what a translation is, `serving` is the server; a vendor's API is a package.
"""
