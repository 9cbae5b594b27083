#!/usr/bin/env python3
"""Against Vowpal Wabbit, on the same rows in one run: held-out AUC of one pass with default flags, five days that drift with each
day's training going on from the day before's, and what VW makes of a model in its readable form.

bench/vw.py THALWEG [--rows N] [--day-rows N]. Needs Python's package vowpalwabbit (measured with 9.11.9); prints tables for
bench/RESULTS.md. VW runs in this process, by its own reader of its own text, as its program would.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peers import auc  # noqa: E402

DAYS = 5
BITS = 24  # VW's 18 would fold the 12.8 million ids of the rows onto 262,144 weights: AUC 0.7846 instead of 0.7884.


def auc_and_logloss(labels, probabilities):
    loss = -sum(math.log(max(1e-12, p if label else 1 - p)) for label, p in zip(labels, probabilities))
    return auc(probabilities, labels), loss / len(labels)


class Thalweg:
    def __init__(self, program):
        self.program = program

    def json(self, *words):
        shown = subprocess.run([self.program, *words, "--json", "--quiet"], check=True, capture_output=True, text=True).stdout
        return json.loads(shown.splitlines()[-1])

    def rows(self, path, count, seed=1, day=0):
        subprocess.run([self.program, "data", "synth", "--rows", str(count), "--seed", str(seed), "--day", str(day), "-o", path,
                        "--quiet"], check=True)


def write_as_vw(svm, vw):
    """The rows of libsvm with the same ids as VW's: names of digits, in no namespace, are indices themselves."""
    with open(svm, encoding="ascii") as rows, open(vw, "w", encoding="ascii") as out:
        for row in rows:
            label, features = row.rstrip("\n").split(" ", 1)
            out.write("%s | %s\n" % ("1" if label == "1" else "-1", features.replace(":1 ", " ").removesuffix(":1")))


def vw_train(path, model, flags, init=None):
    from vowpalwabbit import Workspace
    begin = time.monotonic()
    source = ("-i %s" % init if init else "-b %d" % BITS) + " --loss_function logistic --link logistic " + flags
    learner = Workspace("%s --save_resume -d %s -f %s --quiet" % (source, path, model))
    progressive = learner.get_sum_loss() / learner.get_weighted_examples()
    learner.finish()
    return progressive, time.monotonic() - begin


def vw_measure(path, model, folder):
    from vowpalwabbit import Workspace
    predictions = os.path.join(folder, "predictions")
    Workspace("-i %s -t -d %s -p %s --quiet" % (model, path, predictions)).finish()
    with open(path, encoding="ascii") as rows, open(predictions, encoding="ascii") as lines:
        return auc_and_logloss([int(not row.startswith("-")) for row in rows], [float(line) for line in lines])


def one_pass(thalweg, folder, count):
    print("One pass over %d rows of `data synth`, %d others held out; AUC and logloss of these.\n" % (count, count // 9))
    path, train, test = (os.path.join(folder, name) for name in ("all.svm", "train.svm", "test.svm"))
    thalweg.rows(path, count * 10 // 9)
    with open(path, encoding="ascii") as rows, open(train, "w", encoding="ascii") as most, open(test, "w", encoding="ascii") as rest:
        for number, row in enumerate(rows, 1):
            (rest if number % 10 == 0 else most).write(row)
    for name in (train, test):
        write_as_vw(name, name.replace(".svm", ".vw"))
    print("| what | AUC | logloss | seconds |\n|---|---|---|---|")
    done = thalweg.json("train", train, "--valid", test, "-o", os.path.join(folder, "model"))
    print("| `thalweg train` | %.4f | %.4f | %.1f |" % (done["valid_auc"], done["valid_logloss"], done["seconds"]))
    for flags in ("", "--ftrl", "--ftrl --ftrl_alpha 0.1 --ftrl_beta 1"):
        _, seconds = vw_train(train.replace(".svm", ".vw"), os.path.join(folder, "vw.model"), flags)
        area, loss = vw_measure(test.replace(".svm", ".vw"), os.path.join(folder, "vw.model"), folder)
        print("| `vw %s` | %.4f | %.4f | %.1f |" % (("-b %d " % BITS + flags).strip(), area, loss, seconds), flush=True)
    return test


def chain(thalweg, folder, count):
    print("\n%d days of %d rows that drift, `data synth --day N`. Progressive logloss of each day, and AUC of the day's rows by the model"
          " of the day before.\n" % (DAYS, count))
    ways = {"`train --init`": "", "`train --init`, `--batch 256`": "", "`vw -i --save_resume`": "", "`vw --ftrl -i --save_resume`": "--ftrl"}
    print("| day | %s |" % " | ".join(ways))
    print("|---|%s" % ("---|" * len(ways)))
    before = dict.fromkeys(ways)
    for day in range(DAYS):
        svm = os.path.join(folder, "day%d.svm" % day)
        vw = svm.replace(".svm", ".vw")
        thalweg.rows(svm, count, seed=3, day=day)
        write_as_vw(svm, vw)
        cells = []
        for number, (way, flags) in enumerate(ways.items()):
            model = os.path.join(folder, "model%d.day%d" % (number, day))
            if "vw" in way:
                area = vw_measure(vw, before[way], folder)[0] if day else None
                loss = vw_train(vw, model, flags, before[way])[0]
            else:
                area = thalweg.json("eval", "--model", before[way], svm)["auc"] if day else None
                words = ["train", svm, "-o", model] + (["--init", before[way]] if day else []) + (["--batch", "256"] if "256" in way else [])
                loss = thalweg.json(*words)["progressive_logloss"]
            before[way] = model
            cells.append("%.4f%s" % (loss, ", AUC %.4f" % area if day else ""))
        print("| %d | %s |" % (day + 1, " | ".join(cells)), flush=True)


def readable(thalweg, folder, test):
    """Weights of `model export --format vw-readable`, set in a VW, give the scores of `predict --raw`."""
    from vowpalwabbit import Workspace
    path, rows = os.path.join(folder, "model.vw"), os.path.join(folder, "few.svm")
    with open(test, encoding="ascii") as all_rows, open(rows, "w", encoding="ascii") as few:
        few.writelines(row for _, row in zip(range(2000), all_rows))
    subprocess.run([thalweg.program, "model", "export", os.path.join(folder, "model"), "--format", "vw-readable", "-o", path, "--quiet"],
                   check=True)
    learner = Workspace("-b %d --quiet --min_prediction -1000 --max_prediction 1000" % BITS)
    weights = 0
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line == ":0\n":
                break
        for line in lines:
            index, weight = line.rsplit(":", 2)[-2:]
            learner.set_weight(int(index), 0, float(weight))
            weights += 1
    ours = [float(line) for line in subprocess.run([thalweg.program, "predict", "--model", os.path.join(folder, "model"), rows, "--raw",
                                                    "--quiet"], check=True, capture_output=True, text=True).stdout.split()]
    write_as_vw(rows, rows.replace(".svm", ".vw"))
    with open(rows.replace(".svm", ".vw"), encoding="ascii") as lines:
        theirs = [learner.predict(line[line.index("|"):]) for line in lines]
    worst = max(abs(a - b) for a, b in zip(ours, theirs))
    print("\n%d weights of `model export --format vw-readable` set in VW: its scores of %d rows differ from `predict --raw` by %.2g at"
          " most." % (weights, len(ours), worst))
    return worst < 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("thalweg")
    parser.add_argument("--rows", type=int, default=900000)
    parser.add_argument("--day-rows", type=int, default=200000)
    arguments = parser.parse_args()
    try:
        import vowpalwabbit
    except ImportError:
        sys.exit("bench/vw.py: Python has no package vowpalwabbit; pip install vowpalwabbit")
    print("Vowpal Wabbit %s\n" % vowpalwabbit.__version__)
    thalweg = Thalweg(os.path.abspath(arguments.thalweg))
    with tempfile.TemporaryDirectory() as folder:
        test = one_pass(thalweg, folder, arguments.rows)
        good = readable(thalweg, folder, test)
        chain(thalweg, folder, arguments.day_rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
