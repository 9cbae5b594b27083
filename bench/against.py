"""Two builds of the benchmarks in turn, A B A B: the ratio of their medians for each figure, and which got worse."""
import math
import statistics

WORSE = 0.03         # A figure that is worse by more is marked.
ROUNDS = 5
BETTER_IF_LESS = ("us", "ms", "MB", "bytes/key")  # Units of which less is better; of others more is.


def ratio(old, new, unit):
    """How many times as good the new median is: times, sizes and rates alike are above 1 where it is better."""
    before, after = statistics.median(old), statistics.median(new)
    return before / after if unit in BETTER_IF_LESS else after / before


def spread(old, new, unit):
    """The least and the greatest of the rounds' own ratios: each compares runs that followed each other."""
    rounds = [ratio([a], [b], unit) for a, b in zip(old, new)]
    return min(rounds), max(rounds)


def rows(old, new):
    """Of each figure that both have: name, unit, medians, ratio, least and greatest ratio of a round, and whether it is worse
    by more than WORSE, and in more than half of the rounds."""
    for name, series in old.items():
        before, after, unit = series["values"], new.get(name, {}).get("values"), series["unit"]
        if not after or not unit or not all(before + after):
            continue
        least, most = spread(before, after, unit)
        whole = ratio(before, after, unit)
        often = sum(ratio([a], [b], unit) < 1 for a, b in zip(before, after)) > min(len(before), len(after)) / 2
        yield name, unit, statistics.median(before), statistics.median(after), whole, least, most, whole < 1 - WORSE and often


def number(value):
    return f"{value:.4g}"


def report(old, new):
    """A markdown table, and how many rows are worse."""
    lines, worse = ["| what | before | now | times as good | |", "|---|---|---|---|---|"], 0
    logs = []
    for name, unit, before, after, whole, least, most, is_worse in rows(old, new):
        logs.append(math.log(whole))
        worse += is_worse
        lines.append(f"| {name} | {number(before)} {unit} | {number(after)} {unit} | {whole:.3f} [{least:.3f}..{most:.3f}] "
                     f"| {'worse' if is_worse else ''} |")
    if not logs:
        return "No figure is in both.", 0
    lines += ["", f"Of {len(logs)} figures {worse} are worse by more than {WORSE:.0%}, most rounds agreeing; all together are "
                  f"{math.exp(statistics.fmean(logs)):.3f} times as good."]
    return "\n".join(lines), worse
