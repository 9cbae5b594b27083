#!/usr/bin/env python3
"""Runs the examples of docs/from-vw.md and docs/from-xgboost.md and holds what they show against the pages.

from_others_test.py THALWEG SOURCE_DIR. Each command of a page's console blocks goes through bash, in one folder a page. `...` on the
page stands for anything, on a line or to the end.
"""
import os
import re
import subprocess
import sys
import tempfile

from tour_test import agree


def commands_of(page):
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def main():
    thalweg, source = os.path.abspath(sys.argv[1]), sys.argv[2]
    path = os.path.dirname(thalweg) + os.pathsep + os.environ["PATH"]
    wrong = 0
    for name in ("docs/from-vw.md", "docs/from-xgboost.md"):
        with open(os.path.join(source, name), encoding="utf-8") as page:
            text = page.read()
        commands = commands_of(text)
        rows = re.findall(r"^\| [^|]*`", text, re.M)
        assert len(commands) >= 8 and len(rows) >= 20, "%s: %d commands, %d rows of its table" % (name, len(commands), len(rows))
        with tempfile.TemporaryDirectory() as folder:
            for command, expected in commands:
                done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, check=False, env={**os.environ, "PATH": path})
                # `head` leaves before its writer is done.
                good = done.returncode in (0, 141) and agree(expected, done.stdout.splitlines())
                wrong += not good
                print("%s: %s" % (command, "as on the page" if good else "NOT as on the page; exit code %d\n%s"
                                  % (done.returncode, done.stdout)), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
