"""The programs of a build, for tests that start them; what a sanitizer reports in any of them fails the test."""
import glob
import os
import re
import tempfile
import unittest

PROGRAM = os.environ["THALWEG_TEST_PROGRAM"]
SOURCE = os.environ["THALWEG_TEST_SOURCE"]
SANITIZER = os.environ["THALWEG_TEST_SANITIZER"]  # As -fsanitize= has it, or "".


def patience(seconds):
    return seconds * (4 if SANITIZER else 1)


def times(number):
    """Of so many rounds, those that show a sanitizer what there is to see."""
    return 1 + number // 3 if SANITIZER else number


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def write_reports_to(folder):
    """Where reports go from now on, whoever reads what the processes say."""
    for runtime in ("ASAN", "LSAN", "TSAN", "UBSAN"):
        options = os.environ.get(runtime + "_OPTIONS", "")
        os.environ[runtime + "_OPTIONS"] = "%s:log_path=%s/report" % (options, folder)


if SANITIZER:
    REPORTS = tempfile.TemporaryDirectory(prefix="thalweg-reports-")
    write_reports_to(REPORTS.name)


# What LeakSanitizer says of a process that is killed while it looks for leaks: no leak.
NO_REPORT = re.compile(r"^==\d+==Unable to get registers from thread \d+\.\n", re.MULTILINE)


def take_reports():
    """What sanitizers have reported since the last call."""
    texts = []
    for path in sorted(glob.glob(os.path.join(REPORTS.name, "*"))) if SANITIZER else []:
        with open(path, encoding="utf-8", errors="replace") as report:
            texts.append(NO_REPORT.sub("", report.read()))
        os.remove(path)
    return "\n".join(text for text in texts if text.strip())


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(self.assert_no_reports)

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cls.assert_no_reports)  # Of processes that outlived their test.

    @staticmethod
    def assert_no_reports():
        if reports := take_reports():
            raise AssertionError("a sanitizer reports\n" + reports)

    def end_with_test(self, process):
        """Whatever becomes of the test."""
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.communicate()))
        return process
