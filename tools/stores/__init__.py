"""What the built-in tools keep for one user: notes, tasks, memories and canvases.

Each store works over a connection that is already inside the call's transaction and tenant. People read and change the
same rows through `tools.keeping`. Imports nothing of `tools`.
"""

from tools.stores.canvases import CanvasStore
from tools.stores.embeddings import Meaning
from tools.stores.memories import MemoryStore
from tools.stores.names import folded
from tools.stores.notes import NoteStore
from tools.stores.tasks import TaskStore, due_moment

__all__ = ["CanvasStore", "Meaning", "MemoryStore", "NoteStore", "TaskStore", "due_moment", "folded"]
