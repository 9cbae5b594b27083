"""Checkpoints in a directory, by their names."""
import os


def complete_in(folder):
    """The steps of those that are complete."""
    if not os.path.isdir(folder):
        return []
    return sorted(tuple(map(int, name[5:].split("."))) for name in os.listdir(folder) if name.startswith("step-"))
