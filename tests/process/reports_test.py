#!/usr/bin/env python3
"""A sanitizer's report fails a ProgramTest, though nobody looks at the end of the process and its words."""
import os
import subprocess
import unittest

from programs import SANITIZER, ProgramTest

FAULTY = os.environ["THALWEG_TEST_FAULTY"]


def result_of(fault):
    """What a test ends with that starts a process with this fault."""
    class Starts(ProgramTest):
        def runTest(self):
            subprocess.run([FAULTY, fault], stderr=subprocess.DEVNULL, check=False)

    result = unittest.TestResult()
    Starts().run(result)
    return result


class ReportsTest(unittest.TestCase):
    def test_each_fails_the_test_that_started_the_process(self):
        said = {"address": "heap-buffer-overflow", "undefined": "signed integer overflow", "thread": "data race"}
        for fault in SANITIZER.split(","):
            with self.subTest(fault):
                result = result_of(fault)
                self.assertEqual(len(result.failures), 1)
                self.assertIn(said[fault], result.failures[0][1])

    def test_a_process_without_fault_fails_nothing(self):
        result = result_of("none")
        self.assertTrue(result.wasSuccessful(), result.failures)


if __name__ == "__main__":
    unittest.main(verbosity=2)
