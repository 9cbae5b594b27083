#!/usr/bin/env python3
"""Runs the commands of the pages below and holds what the program shows against them.

claims_test.py THALWEG SOURCE_DIR. On the page `...` stands for any lines, in a line for any text.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile


# And at least how many commands each has. Plans of `topo plan` are examples, which may change.
PAGES = (("docs/claims.md", 20), ("docs/exchange-simulator.md", 15), ("docs/published.md", 1))


def commands_of(page):
    """(words, lines that it shows) of each command of a console block."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:]), []))
            else:
                found[-1][1].append(line)
    return found


def agree(expected, shown):
    patterns = [r"(?:.*\n)*" if line == "..." else re.escape(line).replace(re.escape("..."), ".+") + r"\n"
                for line in expected]
    return re.fullmatch("".join(patterns), shown) is not None


def main():
    thalweg, source = os.path.abspath(sys.argv[1]), sys.argv[2]
    commands = []
    for name, least in PAGES:
        with open(os.path.join(source, name), encoding="utf-8") as page:
            found = commands_of(page.read())
        assert len(found) >= least, "the commands of %s were not found" % name
        commands += [command for command in found if command[0][1] != "topo"]
    assert agree(["a ... c", "...", "d"], "a b c\nx\nd\n") and not agree(["a", "..."], "b\n")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for words, expected in commands:
            assert words[0] == "thalweg", words
            done = subprocess.run([thalweg, *words[1:]], cwd=folder, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            good = done.returncode == 0 and agree(expected, done.stdout)
            wrong += not good
            print("%s: %s" % (shlex.join(words), "as on the page" if good else "NOT as on the page; exit code %d\n%s"
                              % (done.returncode, done.stdout)), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
