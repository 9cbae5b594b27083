"""Ranks of a group as threads of a test."""

import threading

from thalweg import Group


def on_ranks(size, program, timeout=60.0):
    """Calls program(group) in a thread for each rank; what they return, or the first error."""
    groups = Group.in_process(size, timeout)
    answers, thrown = [None] * size, []

    def work(rank):
        try:
            answers[rank] = program(groups[rank])
        except BaseException as error:
            thrown.append(error)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if thrown:
        raise thrown[0]
    return answers
