#!/usr/bin/env python3
"""What draws a picture keeps to itself what it says, unless it fails."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from programs import PROGRAM, ProgramTest, patience


@unittest.skipUnless(shutil.which("gnuplot"), "gnuplot draws")
class Pictures(ProgramTest):
    def check_words(self, folder):
        def thalweg(*words, **changed):
            return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=patience(60), cwd=folder,
                                  check=False, **changed)

        (folder / "rows.svm").write_text("1 1:1\n0 2:1\n1 3:1\n", encoding="utf-8")
        done = thalweg("train", "rows.svm", "--valid", "rows.svm", "--epochs", "1", "--run-dir", "run", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = thalweg("plot", "loss", "run", "-o", "loss.svg")
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        self.assertTrue((folder / "loss.svg").stat().st_size > 0)
        (folder / "gnuplot").write_text("#!/bin/sh\necho it has no pen >&2\nexit 3\n", encoding="utf-8")
        (folder / "gnuplot").chmod(0o755)
        path = str(folder) + os.pathsep + os.environ["PATH"]
        failed = thalweg("plot", "loss", "run", "-o", "loss.svg", env={**os.environ, "PATH": path})
        self.assertIn("'gnuplot' ended with status 3: it has no pen", failed.stderr)

    def test_a_curve_of_one_point_is_drawn_in_silence(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check_words(pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
