#!/usr/bin/env python3
"""against.py divides the right way round, and calls a figure worse where it is, not where one round was slow."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import against  # noqa: E402


def series(unit, *values):
    return {"unit": unit, "values": list(values)}


class Against(unittest.TestCase):
    def test_more_is_better_but_for_times_and_sizes(self):
        self.assertAlmostEqual(against.ratio([10, 20, 30], [40, 40, 40], "k/s"), 2)
        self.assertAlmostEqual(against.ratio([10, 20, 30], [40, 40, 40], "us"), 0.5)
        self.assertAlmostEqual(against.ratio([100], [50], "MB"), 2)

    def test_the_spread_is_of_runs_that_followed_each_other(self):
        # The machine was twice as fast from the second round on.
        self.assertEqual(against.spread([10, 20, 20], [10, 20, 22], "GB/s"), (1, 1.1))

    def test_what_is_slower_in_most_rounds_is_worse(self):
        text, worse = against.report({"x": series("us", 10, 10, 10)}, {"x": series("us", 10.4, 10.4, 9)})
        self.assertEqual(worse, 1)
        self.assertIn("| x | 10 us | 10.4 us | 0.962 [0.962..1.111] | worse |", text)

    def test_what_is_a_little_slower_is_not(self):
        _, worse = against.report({"x": series("us", 10, 10, 10)}, {"x": series("us", 10.2, 10.2, 10.2)})
        self.assertEqual(worse, 0)

    def test_medians_that_move_with_the_machine_are_not(self):
        _, worse = against.report({"x": series("k/s", 10, 20, 20)}, {"x": series("k/s", 10.1, 10.2, 20.1)})
        self.assertEqual(worse, 0)

    def test_only_figures_of_both_are_compared(self):
        text, worse = against.report({"gone": series("us", 1), "auc": series("", 0.8)},
                                     {"new": series("us", 1), "auc": series("", 0.7)})
        self.assertEqual((text, worse), ("No figure is in both.", 0))

    def test_all_together_is_a_geometric_mean(self):
        text, _ = against.report({"x": series("us", 10), "y": series("k/s", 10)},
                                 {"x": series("us", 5), "y": series("k/s", 5)})
        self.assertIn("all together are 1.000 times as good", text)


if __name__ == "__main__":
    unittest.main()
