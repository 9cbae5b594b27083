"""Folders that live as long as what keeps them."""

import os
import shutil
import tempfile
import weakref


class Folder:
    """A new folder, gone with this object, or when the process that made it ends; one that it forks leaves it there."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="thalweg-")
        weakref.finalize(self, _remove, self.name, os.getpid())


def _remove(name: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(name, ignore_errors=True)
