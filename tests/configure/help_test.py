#!/usr/bin/env python3
"""Each script says what it does when asked, without building anything first.

help_test.py SOURCE_DIR.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()


class Help(unittest.TestCase):
    def test_is_shown_without_a_build(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in "cmake", "apt-get":
                tool = pathlib.Path(folder) / name
                tool.write_text(f"#!/bin/sh\necho {name} was called >&2\nexit 1\n")
                tool.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            environment.pop("THALWEG_BUILD", None)
            for script in sorted(path for path in SOURCE.glob("scripts/*") if path.suffix != ".bash"):
                done = subprocess.run([script, "--help"], capture_output=True, text=True, timeout=60, env=environment, check=False)
                with self.subTest(script=script.name):
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertIn("bench/run" if script.name == "bench" else f"scripts/{script.name}", done.stdout)


if __name__ == "__main__":
    unittest.main()
