"""The files of a conversation, in the database: paths, contents, versions, what fits, finding text in them.

Contents are stored once per tenant, by their hash, and reached through SQL functions only. Nothing touches the host's
disk. Tools use `FileStore` in their call's transaction; people use `tools.keeping.files`. May import `tenants`, and
what is below `tools.files` in `tools`.
"""

from tools.files.store import FileStore

__all__ = ["FileStore"]
