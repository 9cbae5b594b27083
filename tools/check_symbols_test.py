#!/usr/bin/env python3
"""check_symbols.py finds each kind of forbidden reference in an object compiled for the purpose."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_symbols  # noqa: E402

FORBIDDEN = {
    'clock_gettime': '#include <time.h>\nvoid f(timespec* t) { clock_gettime(CLOCK_REALTIME, t); }',
    'steady_clock': '#include <chrono>\nauto f() { return std::chrono::steady_clock::now(); }',
    'socket': '#include <sys/socket.h>\nint f() { return socket(AF_INET, SOCK_STREAM, 0); }',
    'fopen': '#include <cstdio>\nFILE* f(const char* n) { return fopen(n, "r"); }',
    'fstream': '#include <fstream>\nvoid f(const char* n) { std::ofstream{n} << 3; }',
    'cerr': '#include <iostream>\nvoid f() { std::cerr << 3; }',
    'getenv': '#include <cstdlib>\nchar* f() { return getenv("A"); }',
    'rand': '#include <cstdlib>\nint f() { return rand(); }',
    'random_device': '#include <random>\nunsigned f() { return std::random_device{}(); }',
    'thread': '#include <thread>\nvoid f() { std::thread([] {}).detach(); }',
    'mutex': '#include <mutex>\nstd::mutex m;\nvoid f() { m.lock(); }',
    'sleep': '#include <unistd.h>\nvoid f() { sleep(1); }',
    'printf': '#include <cstdio>\nvoid f(int x) { printf("%d", x); }',
}
HARMLESS = '''#include <memory>
#include <string>
#include <unordered_map>
#include <cstdlib>
#include <cmath>
void f(std::shared_ptr<int> p, std::unordered_map<std::string, double>& m) {
  if (!p) abort();
  m[std::to_string(*p)] = std::log(double(*p));
}'''


class SymbolsTest(unittest.TestCase):
    def check(self, name, code):
        with tempfile.TemporaryDirectory() as folder:
            source, member, archive = (os.path.join(folder, n) for n in ('a.cc', name, 'liba.a'))
            pathlib.Path(source).write_text(code)
            subprocess.run(['g++', '-std=c++20', '-O1', '-c', source, '-o', member], check=True)
            subprocess.run(['ar', 'rcs', archive, member], check=True)
            return list(check_symbols.violations(archive))

    def test_each_forbidden_symbol_is_found(self):
        for word, code in FORBIDDEN.items():
            with self.subTest(word=word):
                found = self.check('a.cc.o', code)
                self.assertTrue(any('liba.a(a.cc.o)' in line for line in found), found)

    def test_harmless_object_passes(self):
        self.assertEqual(self.check('a.cc.o', HARMLESS), [])

    def test_only_the_named_object_may_write_to_standard_error(self):
        code = '#include <cstdio>\nvoid f(int x) { fprintf(stderr, "%d", x); }'
        self.assertEqual(self.check('check.cc.o', code), [])
        self.assertEqual(len(self.check('other.cc.o', code)), 2)


if __name__ == '__main__':
    unittest.main()
