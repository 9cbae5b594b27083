#!/usr/bin/env python3
"""Runs the command lines of docs/quality.md and holds their figures against what the page promises.

quality_test.py THALWEG SOURCE_DIR [--daily | --full] [SECTION...]. The commands come from the page: each section has a
`sh` block, and a line "Holds: NAME OP NUMBER, ..." over the last line of JSON that its last command prints. What takes
minutes has two of both, a part of the training and then all of it: without --full the first, with it the last. Of LONG
--daily takes one each day, another the next day. Data sets lie in $THALWEG_TEST_DATA; where one of them is not there, that
section is left out, and the test counts as skipped (77).
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

COMPARE = {">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b}
SECTION = re.compile(r"^### (.+?)\n(.*?)(?=^##|\Z)", re.M | re.S)
PROMISED = {"a9a", "agaricus", "criteo-20k", "criteo-20k, from CSV",
            "criteo-20k, with factors and layers", "criteo-raw8k", "frappe", "ipinyou",
            "libffm-tiny", "ml-100k", "mnist", "mnist, convnet", "mnist, softmax", "tinyshakespeare"}
SYNTHETIC = {"synthetic, LR", "synthetic, FM", "synthetic, DeepFM"}
# Those that take half a minute and more: one each day. synthetic, FM needs the rows of LR.
LONG = ("tinyshakespeare", "mnist, softmax", "mnist, convnet", "synthetic, FM", "mnist", "synthetic, DeepFM")


def sections(page):
    """Title to (commands, bounds) of a part of the training and of all of it, which are the same where there is one."""
    found = {}
    for title, body in SECTION.findall(page):
        blocks = re.findall(r"^```sh\n(.*?)^```", body, re.M | re.S)
        holds = re.findall(r"^Holds: (.+?)\.$", body, re.M)
        assert 1 <= len(blocks) == len(holds) <= 2, f"{title}: expected one or two sh blocks, and as many lines of bounds"
        found[title] = [], []
        for which in (0, -1):
            commands = [shlex.split(line) for line in blocks[which].replace("\\\n", " ").splitlines()]
            assert all(c[:1] == ["thalweg"] for c in commands), f"{title}: a command that is not thalweg"
            bounds = [b.strip().strip("`").split() for b in holds[which].split(",")]
            found[title][which].extend((commands, [(name, op, float(number)) for name, op, number in bounds]))
    return found


def run(command, thalweg, data, scratch):
    """The last line of JSON. Paths of data sets are taken from `data`, others from `scratch`."""
    words = [os.path.join(data, w) if os.path.isdir(os.path.join(data, w.split("/")[0])) and ("/" in w or w in PROMISED) else w
             for w in command[1:]]
    done = subprocess.run([thalweg, *words, "--json", "--quiet"], cwd=scratch, text=True, capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}{done.stdout}")
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else {}


def main():
    thalweg, source, *more = sys.argv[1:]
    thalweg = os.path.abspath(thalweg)
    which, wanted = -1 if "--full" in more else 0, [word for word in more if word not in ("--daily", "--full")]
    with open(os.path.join(source, "docs", "quality.md"), encoding="utf-8") as page:
        todo = sections(page.read())
    assert set(todo) == PROMISED | SYNTHETIC, f"docs/quality.md has sections {sorted(todo)}"
    assert set(wanted).union(LONG) <= set(todo), f"expected sections of docs/quality.md: {sorted(todo)}"
    if "--daily" in more:
        todays_long = LONG[int(os.environ.get("THALWEG_TEST_DAY") or time.time() // 86400) % len(LONG)]
        wanted = [title for title in todo if title == todays_long or title not in LONG]
    data = os.path.abspath(os.environ.get("THALWEG_TEST_DATA") or os.path.join(source, "..", "shared", "data"))
    if not os.path.isdir(data):
        print(f"skipped: no data sets in {data}; THALWEG_TEST_DATA says where they are")
        return 77
    failures, absent = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for title in wanted or todo:
            (commands, bounds), name = todo[title][which], title.split(",")[0]
            if title in PROMISED and not os.path.isdir(os.path.join(data, name)):
                print(f"{title}: skipped, {name} is not in {data}")
                absent += 1
                continue
            for command in commands:
                result = run(command, thalweg, data, scratch)
            for key, op, number in bounds:
                value = result.get(key)
                kept = value is not None and COMPARE[op](value, number)
                failures += not kept
                print(f"{title}: {key} {value} {'' if kept else 'NOT '}{op} {number}", flush=True)
    return 1 if failures else 77 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
