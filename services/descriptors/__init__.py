"""The descriptors that come with Toolgate, a module each, and the catalogue that owners add services from.

`entry` says what an entry is and makes its descriptor; `catalogue` lists the entries and turns one into the body of a
new service.
"""
