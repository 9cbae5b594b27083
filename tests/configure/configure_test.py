#!/usr/bin/env python3
"""What is built follows from what was asked, never from what is installed.

configure_test.py SOURCE_DIR. Configures the tree with Debian packages hidden: CMake and pkg-config see a copy of /usr,
made of links, that lacks their files. Nothing is compiled. Without dpkg the test is skipped (77).
"""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
USR = pathlib.Path("/usr")
DAYS = 4  # In which each package has been hidden alone once; all of them together are each day.
SEEN = ("include", "lib", "bin", "sbin", "share/cmake", "share/pkgconfig")  # Where anything is looked for.
ASKED = {"release": ("program", "tests", "ucx", "torch", "bench"), "program": ("program",)}


class Package:
    def __init__(self, line):
        self.part, self.name, *looked_for = line.split()
        self.kind, self.thing = looked_for or (None, None)

    @functools.cached_property
    def files(self):
        """Paths under /usr, links of alternatives and the like left out."""
        listed = subprocess.run(["dpkg-query", "-L", self.name], capture_output=True, text=True, check=False).stdout
        paths = {pathlib.Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
                 for path in listed.splitlines() if path != "/."}
        found = {path for path in paths if USR in path.parents and not (path.is_dir() and not path.is_symlink())}
        if self.kind == "program":
            found |= {USR / "bin" / self.thing, USR / "sbin" / self.thing}
        return found


def packages():
    lines = (SOURCE / "cmake/packages.txt").read_text(encoding="utf-8").splitlines()
    return [Package(line) for line in lines if re.match("[a-z]", line)]


def mirror(folder, copy, hidden, above):
    """Makes `copy` show `folder` without the files in `hidden`; `above` are the folders that these lie in."""
    if folder not in above:
        copy.symlink_to(folder)
        return
    copy.mkdir(parents=True)
    for entry in os.scandir(folder):
        path = pathlib.Path(entry.path)
        if path in above and not path.is_symlink():
            mirror(path, copy / entry.name, hidden, above)
        elif path not in hidden and not (entry.is_symlink() and pathlib.Path(os.path.realpath(path)) in hidden):
            (copy / entry.name).symlink_to(path)


class Configurer:
    """Configures the tree as on machines that lack packages."""

    def __init__(self, scratch):
        self.scratch, self.runs = pathlib.Path(scratch), 0
        self.seed = None  # What the first run learnt about the compiler.

    def run(self, hidden, *arguments):
        """The build folder, or the text of what went wrong."""
        self.runs += 1
        root = self.scratch / str(self.runs)
        build = root / "build"
        files = set().union(*(package.files for package in hidden))
        files = {path for path in files if any(USR / seen in path.parents for seen in SEEN)}
        mirror(USR, root / "usr", files, {folder for path in files for folder in path.parents} | {USR})
        for package in hidden:
            if package.kind == "python":
                (root / f"{package.thing}.py").write_text("raise ImportError\n", encoding="utf-8")
        if self.seed:
            shutil.copytree(self.seed, build / "CMakeFiles" / self.seed.name)
        modules = [*root.glob("usr/lib/*/pkgconfig"), root / "usr/lib/pkgconfig", root / "usr/share/pkgconfig"]
        environment = dict(os.environ, PATH=f"{root}/usr/bin:{root}/usr/sbin", PYTHONPATH=str(root),
                           PKG_CONFIG_LIBDIR=":".join(map(str, modules)))
        settings = {"CMAKE_MAKE_PROGRAM": shutil.which("ninja"), "CMAKE_CXX_COMPILER": shutil.which("g++"),
                    "CMAKE_HAVE_LIBC_PTHREAD": 1, "CMAKE_FIND_ROOT_PATH": root,
                    **{f"CMAKE_FIND_ROOT_PATH_MODE_{kind}": "ONLY" for kind in ("PROGRAM", "LIBRARY", "INCLUDE", "PACKAGE")}}
        done = subprocess.run([shutil.which("cmake"), *arguments, "-B", build, "-G", "Ninja",
                               *(f"-D{name}={value}" for name, value in settings.items())],
                              cwd=SOURCE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            return done.stdout
        self.seed = self.seed or next(build.glob("CMakeFiles/[0-9]*"))
        return build

    def commands(self, hidden, *arguments):
        """What would be compiled, and how, independent of where the folder stands."""
        build = self.run(hidden, *arguments)
        assert isinstance(build, pathlib.Path), build
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        compiled = (one["command"].replace(str(build.parent), "") for one in commands)
        return sorted(re.sub(r" -isystem /usr/include(?= )", "", command) for command in compiled)  # CMake knows it where it is real.


class ConfigureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.packages = packages()
        cls.tree = Configurer(scratch.name)
        cls.program = cls.tree.commands([], "-S", SOURCE)

    def parts(self, *names):
        return [package for package in self.packages if package.part in names]

    def assert_names(self, hidden, *arguments):
        """Fails, and says in one line which packages are missing: those and no others."""
        said = self.tree.run(hidden, *arguments)
        self.assertIsInstance(said, str, f"configured without {' '.join(package.name for package in hidden)}")
        lines = [line for line in said.splitlines() if "Debian packages missing" in line]
        self.assertEqual(len(lines), 1, said)
        named = re.search(r"missing for [a-z, ]+: ([^;]+); scripts/setup", lines[0])
        self.assertIsNotNone(named, said)
        self.assertEqual(named.group(1).split(), [package.name for package in hidden if package.kind])

    def test_the_program_needs_none_of_the_others_packages(self):
        others = [package for package in self.packages if package.part != "program"]
        self.assertEqual(self.tree.commands(others, "-S", SOURCE), self.program)
        self.tree.commands(others, "--preset", "program")

    def test_the_program_has_no_tests_benchmarks_or_examples(self):
        for command in self.program:
            self.assertRegex(command.split()[-1], rf"^{re.escape(str(SOURCE))}/src/(?!.*_(test|fuzz)\.cc$)")

    def test_what_a_preset_asks_for_is_named_when_it_is_missing(self):
        for preset, parts in ASKED.items():
            asked = [package for package in self.parts(*parts) if package.kind]
            today = int(time.time() // 86400) % DAYS
            for hidden in [[package] for package in asked[today::DAYS]] + [asked]:
                with self.subTest(preset=preset, hidden=[package.name for package in hidden]):
                    self.assert_names(hidden, "--preset", preset)

    def test_peers_are_named_when_they_are_asked_for(self):
        self.assert_names(self.parts("peers"), "--preset", "release", "-DTHALWEG_PEERS=ON")

    def test_tests_need_nothing_that_was_not_asked_for(self):
        hidden = self.parts("ucx", "fuzz", "tidy", "peers")
        commands = self.tree.commands(hidden, "--preset", "release", "-DTHALWEG_UCX=OFF")
        self.assertTrue([line for line in commands if "_test.cc" in line])

    def test_a_cache_that_has_the_program_has_the_wheels_library(self):
        presets = json.loads((SOURCE / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
        program = next(preset["cacheVariables"] for preset in presets if preset["name"] == "program")
        with open(SOURCE / "pyproject.toml", "rb") as project:
            wheel = tomllib.load(project)["tool"]["scikit-build"]["cmake"]["define"]
        for name in ("CMAKE_UNITY_BUILD", "CMAKE_UNITY_BUILD_BATCH_SIZE"):
            self.assertEqual(wheel[name], program[name], name)

    def test_setup_installs_what_the_presets_ask_for(self):
        listed = subprocess.run([SOURCE / "scripts/setup", "--list"], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(listed, [package.name for package in self.packages if package.part != "peers"])


if __name__ == "__main__":
    if not shutil.which("dpkg-query"):
        print("skipped: no dpkg here")
        sys.exit(77)
    unittest.main()
