#!/usr/bin/env python3
"""Runs README's tour, the examples of docs/going-on.md and docs/checkpoints.md and all that docs/exchange-simulator.md and docs/published.md
simulate, and holds what the program shows against the pages.

tour_test.py THALWEG SOURCE_DIR. `...` on the page stands for anything, on a line or to the end. Of docs/cluster.md the
digest of the same job is held against the tour's.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile


def commands_of(page):
    """(command, lines that it shows) of the page's first such block, of README of its tour."""
    return commands_in(re.search(r"(?:^## A tour$|\A# (?:Going on|Checkpoints)).*?^```console\n(.*?)^```", page, re.M | re.S).group(1))


def commands_in(block):
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line[2:]), []))
        else:
            found[-1][1].append(line)
    return found


def agree(expected, shown):
    to_end = expected[-1:] == ["..."]
    if to_end:
        expected, shown = expected[:-1], shown[:len(expected) - 1]
    patterns = [re.escape(line).replace(re.escape("..."), ".+") for line in expected]
    return len(patterns) == len(shown) and all(map(re.fullmatch, patterns, shown))


def main():
    thalweg, source = os.path.abspath(sys.argv[1]), sys.argv[2]
    pages = {}
    simulated = ("docs/exchange-simulator.md", "docs/published.md")
    for name in ("README.md", "docs/cluster.md", "docs/going-on.md", "docs/checkpoints.md", *simulated):
        with open(os.path.join(source, name), encoding="utf-8") as page:
            pages[name] = page.read()
    tour = commands_of(pages["README.md"])
    assert len(tour) >= 6, "the tour was not found"
    tour += commands_of(pages["docs/going-on.md"])
    tour += commands_of(pages["docs/checkpoints.md"])
    for name in simulated:
        for block in re.findall(r"^```console\n(.*?)^```", pages[name], re.M | re.S):
            tour += commands_in(block)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for words, expected in tour:
            assert words[0] == "thalweg", words
            done = subprocess.run([thalweg, *words[1:]], cwd=folder, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            good = done.returncode == 0 and agree(expected, done.stdout.splitlines())
            wrong += not good
            print("%s: %s" % (shlex.join(words), "as on the page" if good else "NOT as on the page; exit code %d\n%s"
                              % (done.returncode, done.stdout)), flush=True)
    digest = re.search(r"model digest ([0-9a-f]{16})", pages["README.md"]).group(1)
    by_hand = re.findall(r"`([0-9a-f]{16})`", pages["docs/cluster.md"])
    if by_hand != [digest]:
        print("docs/cluster.md has the digests %s, expected the tour's %s" % (by_hand, digest))
    return 1 if wrong or by_hand != [digest] else 0


if __name__ == "__main__":
    sys.exit(main())
