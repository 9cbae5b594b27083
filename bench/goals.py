"""The goals, and figures as a markdown table against them."""
import statistics

# What, figure, at least or at most, goal, peer or ceiling with its figure and the factor that is wanted.
GOALS = [
    ("parse libsvm, one core", "parse, thalweg", ">=", 2.5, [("hand loop", "parse, hand loop", 0.78)]),
    ("LR, one epoch, embedded", "LR, examples/s", ">=", 1600,
     [("parse floor of one core", "parse, hand loop", 0.5),
      ("liblinear -e 0.1", "liblinear -e 0.1, examples/s of the whole program", None),
      ("liblinear, converged", "liblinear -e 0.001, examples/s of the whole program", None)]),
    ("LR, max RSS", "LR, max RSS", "<=", 200, [("liblinear", "liblinear -e 0.001, max RSS", None)]),
    ("LR, held-out AUC", "LR, held-out AUC", ">=", None,
     [("liblinear, converged", "liblinear -e 0.001, held-out AUC", -0.002)]),
    ("FM k=8, one epoch", "FM k=8, examples/s", ">=", 600, []),
    ("FM, max RSS", "FM k=8, max RSS", "<=", 300, []),
    ("LR, 1 server + 2 workers over TCP", "LR, 1 server + 2 workers, examples/s", ">=", 800, []),
    ("table pull, dim 16", "table pull, dim 16, thalweg", ">=", 15,
     [("flat_hash_map", "table pull, dim 16, flat_hash_map", None),
      ("with prefetch", "table pull, dim 16, flat_hash_map, prefetch", None)]),
    ("table push, dim 16 Adagrad", "table push, dim 16 adagrad, thalweg", ">=", 13,
     [("flat_hash_map", "table push, dim 16 adagrad, flat_hash_map", None),
      ("with prefetch", "table push, dim 16 adagrad, flat_hash_map, prefetch", None)]),
    ("bytes per key, dim 1 FTRL", "table memory, dim 1 ftrl", "<=", 32, []),
    ("pull, random keys", "pull, random", ">=", 10, [("Redis MGET", "redis MGET, random", 10)]),
    ("push, random keys", "push, random", ">=", 10, [("Redis MSET", "redis MSET, random", 10)]),
    ("pull, random keys, Keys::of included", "pull, random, Keys::of included", ">=", 10,
     [("Redis MGET", "redis MGET, random", 10)]),
    ("push, random keys, Keys::of included", "push, random, Keys::of included", ">=", 10,
     [("Redis MSET", "redis MSET, random", 10)]),
    ("pull, 1e5 hot keys, 4 in flight", "pull, hot", ">=", 35, []),
    ("push, 1e5 hot keys, 4 in flight", "push, hot", ">=", 45, []),
    ("push 4 KB, 1 in flight, p50", "push 4 KB, 1 in flight, p50", "<=", 34, []),
    ("push 4 KB, 1 in flight", "push 4 KB, 1 in flight", ">=", 28, []),
    ("push 4 KB, 32 in flight", "push 4 KB, 32 in flight", ">=", 180, []),
    ("push 1 MB dense", "push 1 MB dense, 4 in flight", ">=", 5, [("raw TCP", "TCP 1 MB, one connection", 0.59)]),
]
SCALE = {("k/s", "M rows/s"): 1e-3}  # To the peer's unit.


def number(value):
    return f"{value:.4f}" if abs(value) < 2 else f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def spread(series):
    values = series["values"]
    text = number(statistics.median(values))
    if len(values) > 1:
        text += f" [{number(min(values))}..{number(max(values))}]"
    return f"{text} {series['unit']}".strip()


def beside(series, side, peers, figures):
    """Each peer's figure, and our median as a multiple of it; `side` says whether the goal is at least or at most that."""
    parts = []
    for name, figure, wanted in peers:
        if figure not in figures:
            continue
        peer = figures[figure]
        if not series["unit"]:  # A quality: the difference tells.
            less = statistics.median(series["values"]) - statistics.median(peer["values"])
            missed = ", missed" if less < wanted else ""
            parts.append(f"{name} {spread(peer)}: {less:+.4f} (goal {wanted:+g} at worst{missed})")
            continue
        ratio = statistics.median(series["values"]) / statistics.median(peer["values"])
        ratio *= SCALE.get((series["unit"], peer["unit"]), 1)
        missed = wanted and (ratio < wanted if side == ">=" else ratio > wanted)
        goal = f" (goal {wanted:g}{', missed' if missed else ''})" if wanted else ""
        parts.append(f"{name} {spread(peer)}: x{ratio:.2f}{goal}")
    return "; ".join(parts)


def report(about, figures, goals=None):
    goals = GOALS if goals is None else goals
    lines = [f"Commit {about['commit']}, {about['date']}, `{about['command'].strip()}`; {about['processor']}, "
             f"{about['cores']} cores, {about['memory_gb']} GB. Load average at the start of each part: "
             + ", ".join(f"{part} {load}" for part, load in about["load_average"].items()) + ".",
             "", "| what | goal | measured | goal reached | beside |", "|---|---|---|---|---|"]
    for what, figure, side, goal, peers in goals:
        if figure not in figures:
            continue
        series = figures[figure]
        median = statistics.median(series["values"])
        reached = "" if goal is None else f"{(median / goal if side == '>=' else goal / median):.0%}"
        wanted = "" if goal is None else f"{side} {goal:g}"
        lines.append(f"| {what} | {wanted} | {spread(series)} | {reached} | {beside(series, side, peers, figures)} |")
    named = {goal[1] for goal in goals}
    lines += ["", "All other figures of the run:", "", "| what | measured |", "|---|---|"]
    lines += [f"| {name} | {spread(series)} |" for name, series in figures.items() if name not in named]
    return "\n".join(lines)
