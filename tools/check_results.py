#!/usr/bin/env python3
"""Says last why tests failed, and fails on skipped ones that no list excuses.

Usage: tools/check_results.py RESULTS LIST [--whole]. RESULTS is what ctest --output-junit wrote, LIST is as
tests/skips.txt: "WHEN PATTERN REASON" a line. Prints the end of what each failed test said, each skip that no pattern matches; with --whole also each pattern
of WHEN "always" that matched nothing; and last "N passed, N failed, N skipped". Exit 1 if a skip is not listed.
"""
import fnmatch
import pathlib
import re
import sys
import xml.etree.ElementTree

SKIPPED_METHOD = re.compile(r"""^(test\w*) \(.*\.\.\. skipped ['"](.*)['"]$""", re.M)
SKIPPED_OTHER = re.compile(r"^(?:.*: Skipped|skipped:|SKIPPED \[\d+\] [^:]+(?::\d+)?:)\s*(.*)$", re.M)

FAILURES_TOLD = 5
LINES_OF_FAILURE = 40


class Entry:
    def __init__(self, when, pattern, reason):
        self.when, self.pattern, self.reason = when, pattern, reason


def entries(text):
    """The lines of a list; ends where one is not of its form."""
    found = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if len(words) != 3 or words[0] not in ("always", "sometimes"):
            sys.exit(f"tests/skips.txt: expected 'always|sometimes PATTERN REASON', not '{line}'")
        found.append(Entry(*words))
    return found


def skips(case):
    """(name, reason) of what a test case left out; methods of a Python test are told apart."""
    message = case.find("skipped")
    if message is None or not message.get("message", "").startswith("SKIP_"):
        return []
    said = case.findtext("system-out") or ""
    methods = SKIPPED_METHOD.findall(said)
    if methods:
        return [(f"{case.get('name')}:{method}", reason) for method, reason in methods]
    reason = SKIPPED_OTHER.search(said)
    return [(case.get("name"), reason.group(1) if reason else "no reason given")]


def failures(results):
    """The end of what each test said that failed; of the first few all."""
    failed = [case for case in results.iter("testcase") if case.get("status") == "fail"]
    lines = []
    for case in failed[:FAILURES_TOLD]:
        said = (case.findtext("system-out") or "").splitlines()
        lines += [f"failed: {case.get('name')}"] + [f"    {line[:300]}" for line in said[-LINES_OF_FAILURE:]]
    return lines + [f"failed: {case.get('name')}" for case in failed[FAILURES_TOLD:]]


def check(results, listed, whole):
    """(lines to print, whether every skip is listed)."""
    cases = list(results.iter("testcase"))
    skipped = {case: skips(case) for case in cases}
    lines, used = [], set()
    for name, reason in (skip for found in skipped.values() for skip in found):
        matching = [entry for entry in listed if fnmatch.fnmatchcase(name, entry.pattern)]
        used.update(matching)
        if not matching:
            lines.append(f"skipped without being listed in tests/skips.txt: {name}: {reason}")
    good = not lines
    if whole:
        lines += [f"listed as always skipped, and nothing was: {entry.pattern} ({entry.reason})"
                  for entry in listed if entry.when == "always" and entry not in used]
    passed = sum(case.get("status") == "run" for case in cases)
    left_out = sum(bool(found) for found in skipped.values())
    lines.append(f"{passed} passed, {len(cases) - passed - left_out} failed, {left_out} skipped")
    return lines, good


def main():
    whole = "--whole" in sys.argv
    results, listed = [argument for argument in sys.argv[1:] if argument != "--whole"]
    found = xml.etree.ElementTree.parse(results)
    lines, good = check(found, entries(pathlib.Path(listed).read_text(encoding="utf-8")), whole)
    print("\n".join(failures(found) + lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
