#!/usr/bin/env python3
"""Runs the commands of the pages below and holds what the program shows and draws against them.

claims_test.py THALWEG SOURCE_DIR [--redraw]. They run in one directory, where the files of examples/compare are. On the
page `...` stands for any lines, in a line for any text; a picture is docs/pictures/NAME of the file NAME that a command has
left. Of those by another gnuplot than the page's, and of runs that were not simulated, it is enough that they are drawn.
--redraw puts what was drawn in the page's place.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


# And at least how many commands each has. Plans of `topo plan` are examples, which may change.
PAGES = (("docs/claims.md", 20), ("docs/exchange-simulator.md", 15), ("docs/published.md", 1))


# Of dense models, whose component a build may lack.
DENSE = "gossip"


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


def pictures_of(page):
    return re.findall(r"^!\[.*?\]\(pictures/(.*?)\)$", page, re.M)


def agree(expected, shown):
    patterns = [r"(?:.*\n)*" if line == "..." else re.escape(line).replace(re.escape("..."), ".+") + r"\n"
                for line in expected]
    return re.fullmatch("".join(patterns), shown) is not None


def alike(expected, drawn):
    """The same but for a pixel here and there."""
    maker = re.compile(r"<desc>Produced by GNUPLOT .*?</desc>")
    if maker.findall(expected) != maker.findall(drawn):
        return True
    number = re.compile(r"\d+(?:\.\d+)?")
    return number.sub("", expected) == number.sub("", drawn) and all(
        abs(float(one) - float(other)) <= 1 for one, other in zip(number.findall(expected), number.findall(drawn)))


def repeats(drawn):
    """Whether the picture is the same each time: not of runs that were not simulated."""
    runs = os.path.join(os.path.dirname(drawn), "runs.csv")
    if not os.path.exists(runs):
        return True
    with open(runs, encoding="utf-8") as lines:
        return all(line.endswith(",true\n") for line in list(lines)[1:])


def look_at_pictures(names, folder, pages_folder, redraw):
    """How many are not as on the page."""
    wrong = 0
    for name in names:
        drawn, shown = os.path.join(folder, name), os.path.join(pages_folder, name)
        if redraw:
            os.makedirs(os.path.dirname(shown), exist_ok=True)
            shutil.copyfile(drawn, shown)
        with open(drawn, encoding="utf-8") as one, open(shown, encoding="utf-8") as other:
            good = not repeats(drawn) or alike(other.read(), one.read())
        wrong += not good
        print("picture %s: %s" % (name, "as on the page" if good else "NOT as on the page"), flush=True)
    return wrong


def main():
    thalweg, source = os.path.abspath(sys.argv[1]), sys.argv[2]
    redraw = sys.argv[3:] == ["--redraw"]
    commands, pictures = [], []
    for name, least in PAGES:
        with open(os.path.join(source, name), encoding="utf-8") as file:
            page = file.read()
        found = commands_of(page)
        assert len(found) >= least, "the commands of %s were not found" % name
        commands += [command for command in found if command[0][1] != "topo"]
        pictures += pictures_of(page)
    assert len(pictures) >= 8, "the pictures were not found"
    if not os.path.exists(os.path.join(os.path.dirname(thalweg), "thalweg_torch.so")):
        commands = [command for command in commands if command[0][-1] != DENSE]
        pictures = [picture for picture in pictures if not picture.startswith(DENSE + "/")]
        print("built without dense models: %s is left out" % DENSE, flush=True)
    assert agree(["a ... c", "...", "d"], "a b c\nx\nd\n") and not agree(["a", "..."], "b\n")
    assert alike("M 1,2.5 x", "M 1.5,2 x") and not alike("M 1,2 x", "M 1,9 x") and not alike("M 1", "L 1")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for example in glob.glob(os.path.join(source, "examples/compare/*.toml")):
            shutil.copy(example, folder)
        for words, expected in commands:
            assert words[0] == "thalweg", words
            done = subprocess.run([thalweg, *words[1:]], cwd=folder, text=True, capture_output=True, check=False)
            told = re.sub(r"^epoch .*% \[.*\n", "", done.stderr, flags=re.M)  # Progress depends on the machine.
            good = done.returncode == 0 and agree(expected, done.stdout or told)
            wrong += not good
            print("%s: %s" % (shlex.join(words), "as on the page" if good else "NOT as on the page; exit code %d\n%s%s"
                              % (done.returncode, done.stdout, done.stderr)), flush=True)
        wrong += look_at_pictures(pictures, folder, os.path.join(source, "docs/pictures"), redraw)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
