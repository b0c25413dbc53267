"""Checkpoints: stop and go on as if never stopped, whatever died in between.

The contract is `store.Store`; `saving.Saver` writes through one while training goes on. Importing this package loads
neither torch nor anything else: the table below names its classes, and whoever assembles a run imports the one chosen.
"""

STORES = {
    "folder": "stretto.checkpoint.folder:FolderStore",
    "memory": "stretto.checkpoint.memory:MemoryStore",
}
