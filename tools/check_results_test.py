#!/usr/bin/env python3
"""tools/check_results.py finds what it is for: real runs of ctest, over tests made up here."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("check_results.py")
TESTS = {
    "good": ("true", ""),
    "bad": ("seq 50; false", ""),
    "not_run": ("true", "REQUIRED_FILES /nowhere/at_all"),
    "no_data": ("echo 'skipped: no data'; exit 77", "SKIP_RETURN_CODE 77"),
    "gtest": ("printf 'x_test.cc:7: Skipped\\nno disk\\n[  SKIPPED ] A.B\\n'", r'SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]"'),
    "pytest": ("printf 'x\\nSKIPPED [1] a/test_b.py:9: no torch\\n3 passed, 1 skipped in 1s\\n'",
               r'SKIP_REGULAR_EXPRESSION "\n([0-9]+ passed, )?[0-9]+ skipped"'),
    "python": ("python3 -c 'import unittest\n"
               "class T(unittest.TestCase):\n"
               "    def test_one(self): self.skipTest(chr(110) + chr(111))\n"
               "    def test_two(self): pass\n"
               "unittest.main(verbosity=2)'", r'SKIP_REGULAR_EXPRESSION "OK \\(skipped="'),
}


class CheckResultsTest(unittest.TestCase):
    def check(self, tests, listed, *arguments):
        """(exit code, lines) after a run of `tests` with the list `listed`."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            lines = []
            for test in tests:
                command, properties = TESTS[test]
                (folder / test).write_text(command, encoding="utf-8")
                lines.append(f'add_test({test} sh "{folder / test}")\n')
                if properties:
                    lines.append(f"set_tests_properties({test} PROPERTIES {properties})\n")
            (folder / "CTestTestfile.cmake").write_text("".join(lines), encoding="utf-8")
            (folder / "skips.txt").write_text(listed, encoding="utf-8")
            subprocess.run(["ctest", "--test-dir", folder, "--output-junit", folder / "results.xml"], capture_output=True, check=False)
            done = subprocess.run([sys.executable, CHECK, folder / "results.xml", folder / "skips.txt", *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            return done.returncode, (done.stdout or done.stderr).splitlines()

    def test_counts(self):
        self.assertEqual(self.check(["good", "no_data"], "always no_data some reason\n"), (0, ["1 passed, 0 failed, 1 skipped"]))

    def test_the_end_of_what_a_failed_test_said_comes_last(self):
        said = [f"    {line}" for line in range(11, 51)]
        self.assertEqual(self.check(["good", "bad"], ""), (0, ["failed: bad", *said, "1 passed, 1 failed, 0 skipped"]))

    def test_what_could_not_run_is_no_skip(self):
        self.assertEqual(self.check(["good", "not_run"], "always not_run some reason\n"), (0, ["1 passed, 1 failed, 0 skipped"]))

    def test_a_skip_that_is_not_listed_fails(self):
        code, lines = self.check(["good", "no_data", "gtest", "pytest", "python"], "# nothing\n")
        self.assertEqual(code, 1)
        begin = "skipped without being listed in tests/skips.txt: "
        self.assertEqual(lines, [begin + "no_data: no data", begin + "gtest: no disk", begin + "pytest: no torch",
                                 begin + "python:test_one: no", "1 passed, 0 failed, 4 skipped"])

    def test_listed_skips_pass(self):
        listed = "always no_* some reason\nsometimes gtest some reason\nalways python:test_one some reason\n"
        self.assertEqual(self.check(["no_data", "gtest", "python"], listed, "--whole"), (0, ["0 passed, 0 failed, 3 skipped"]))

    def test_another_method_of_a_listed_test_is_not_excused(self):
        self.assertEqual(self.check(["python"], "always python:test_two some reason\n")[0], 1)

    def test_a_list_that_is_out_of_date_is_reported(self):
        listed = "always no_data some reason\nsometimes gtest some reason\n"
        self.assertEqual(self.check(["good"], listed, "--whole"),
                         (0, ["listed as always skipped, and nothing was: no_data (some reason)", "1 passed, 0 failed, 0 skipped"]))
        self.assertEqual(self.check(["good"], listed), (0, ["1 passed, 0 failed, 0 skipped"]))

    def test_a_reason_is_demanded(self):
        for line in ("always no_data", "often no_data some reason"):
            self.assertEqual(self.check(["good"], line + "\n"),
                             (1, [f"tests/skips.txt: expected 'always|sometimes PATTERN REASON', not '{line}'"]))


if __name__ == "__main__":
    unittest.main()
