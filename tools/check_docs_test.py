#!/usr/bin/env python3
"""check_docs.py finds each kind of error that it is for, and nothing in a tree without one."""
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_docs  # noqa: E402

PROGRAM = '''#!/bin/sh
case "$*" in
  help) printf 'Commands:\\n  train             Train\\n  node server       Serve\\n' ;;
  "help train") printf 'Usage: thalweg train [OPTIONS]\\n  -q, --quiet   Less\\n      --rate X   Rate\\n' ;;
  "help node server") printf 'Output:\\n      --join ADDR   Where\\n' ;;
  *) exit 2 ;;
esac
'''
GOOD = '''# A page

See [the other](sub/other.md#second-part), [this](#a-page) and [the web](https://example.org/x).
`src/a.cc`, `src/a.{cc,h}`, `src/*.h:3`, `thalweg train FILE --rate 1`, `thalweg COMMAND --anything`, `thalweg node`.
```
$ thalweg train data \\
    --quiet --rate=2 -- --not-a-flag && build/release/thalweg node server --join x | tee log
cd thalweg
```
```cpp
thalweg nonsense --flag
```
'''


class CheckDocs(unittest.TestCase):
    def errors(self, text, program=True):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / 'sub').mkdir()
            (root / 'src').mkdir()
            (root / 'src/a.cc').touch()
            (root / 'src/a.h').write_text('inline constexpr std::uint64_t kLengthMax =\n    std::uint64_t{64} << 20;\n')
            (root / 'src/a_test.cc').write_text('TEST(Suite, Passes) {\nTEST_P(Cases, Pass) {\n')
            (root / 'src/exchange/route').mkdir(parents=True)
            (root / 'src/exchange/route/routes.h').write_text('#define THALWEG_ROUTES(route) \\\n%s  route(kF)\n\nkNotOne\n' %
                                                              ''.join(f'  route(k{i}) \\\n' for i in 'ABCDE'))
            (root / 'CMakeLists.txt').write_text('add_test(NAME ${PREFIX}process.run COMMAND x)\n'
                                                 'thalweg_program_test(process.jog jog.py 9)\n')
            (root / 'sub/other.md').write_text('# Other\n## Second part\n')
            (root / 'page.md').write_text(text)
            script = root / 'program'
            script.write_text(PROGRAM)
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
            return check_docs.Checker(root, script if program else None).run()

    def test_examples_stand_in_their_files(self):
        header = '```cpp src/a.h\n%s\n```\n'
        good = '...\ninline constexpr std::uint64_t kLengthMax =\n\n  std::uint64_t{64} << 20;'
        self.assertEqual(self.errors(header % good), [])
        self.assert_found(header % 'inline constexpr std::uint64_t kLengthMin =', 'has no such line')
        self.assert_found(header % '\n'.join(reversed(good.split('\n'))), 'has no such line')
        self.assert_found(header.replace('a.h', 'b.h') % good, 'src/b.h, which is not there')

    def assert_found(self, text, expected):
        found = self.errors(text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_a_good_page_passes(self):
        self.assertEqual(self.errors(GOOD), [])

    def test_a_broken_link(self):
        self.assert_found('\n[x](sub/gone.md)\n', 'page.md:2: link to sub/gone.md')

    def test_a_broken_anchor(self):
        self.assert_found('[x](sub/other.md#third-part)\n', 'no heading has this anchor')
        self.assert_found('[x](#nowhere)\n', 'no heading has this anchor')

    def test_a_path_that_does_not_exist(self):
        self.assert_found('`src/gone.cc`\n', 'there is no src/gone.cc')
        self.assert_found('`src/a.{cc,py}`\n', 'there is no src/a.py')
        self.assert_found('`src/*.rs`\n', 'there is no src/*.rs')

    def test_an_unknown_command(self):
        self.assert_found('`thalweg fly`\n', 'no command "fly"')
        self.assert_found('```sh\nx=1 ./build/release/thalweg node client --join y\n```\n',
                          'no command "node client"')

    def test_an_unknown_flag(self):
        self.assert_found('`thalweg train --speed 3`\n', 'thalweg train has no option --speed')
        self.assert_found('```\nthalweg train a \\\n  -x\n```\n', 'page.md:3: thalweg train has no option -x')
        self.assert_found('```\necho a | thalweg node server --rate 1\n```\n', 'node server has no option --rate')

    def test_names_of_tests(self):
        self.assertEqual(self.errors('`Suite.Passes`, `Cases.Pass`, `std.Thing`\n'), [])
        self.assert_found('`Suite.Fails`\n', '`Suite.Fails`: there is no such test')

    def test_filters_of_tests(self):
        self.assertEqual(self.errors('```\na_test --gtest_filter=Suite.*:*Cases*-*Slow\nctest -R process.r\n'
                                     'ctest -j1 -R src.Suite\nctest -R process.jog\n```\n'), [])
        self.assert_found('```\na_test --gtest_filter=Suite.*:Sweet.*\n```\n', 'gtest_filter=Suite.*:Sweet.* finds no')
        self.assert_found('`ctest -R process.walk`\n', 'ctest -R process.walk finds no test')

    def test_sizes_beside_a_constant(self):
        self.assertEqual(self.errors('64 MiB (`kLengthMax`), 16 MiB\n'), [])
        self.assert_found('16 MiB (`kLengthMax`)\n', '16 MiB: kLengthMax is 67108864 bytes')
        self.assert_found('64 MiB (`kWidthMax`)\n', 'kWidthMax is None')

    def test_numbers_of_what_the_sources_list(self):
        self.assertEqual(self.errors('by five routes, and two routes of them\n'), [])
        self.assert_found('by six routes\n', 'six routes: there are 5')
        self.assert_found('by 16 routes\n', '16 routes: there are 5')

    def test_a_metric_without_its_row(self):
        row = '| `gain` | what is won |'
        source = 'constexpr Metric kGain = {\n    .name = "gain",\n    .summary = "what is won",\n};\n'
        for page, errors in ((row + ' both |\n', 0), ('| `gain` | what was won |\n', 1), ('', 1)):
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                (root / 'src/model/metric').mkdir(parents=True)
                (root / 'src/model/metric/gain.cc').write_text(source)
                (root / 'docs').mkdir()
                (root / 'docs/cli.md').write_text(page)
                found = check_docs.Checker(root).run()
                self.assertEqual(len(found), errors, found)

    def test_commands_are_left_alone_without_a_program(self):
        self.assertEqual(self.errors('`thalweg fly`\n', program=False), [])


if __name__ == '__main__':
    unittest.main()
