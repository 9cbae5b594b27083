#!/usr/bin/env python3
"""Each rule of check_layers.py fails on a small tree that breaks it, and passes on one that does not."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_layers  # noqa: E402
import cpp_source  # noqa: E402


def errors(files):
    """What the checker says of a tree made of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {'src/base/check.h': '', 'include/thalweg/ids.h': '', **files}.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check_layers.Checker(root).run()


class LayersTest(unittest.TestCase):
    def assertFails(self, files, *words):
        found = errors(files)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def assertPasses(self, files):
        self.assertEqual(errors(files), [])

    def test_downward_include_passes(self):
        self.assertPasses({'src/table/a.cc': '#include "table/a.h"\n#include "base/check.h"\n#include <vector>\n'
                                             '#include "thalweg/ids.h"\n', 'src/table/a.h': ''})

    def test_upward_include(self):
        self.assertFails({'src/base/a.cc': '#include "table/a.h"\n', 'src/table/a.h': ''}, 'src/base/a.cc:1', 'table/a.h')

    def test_drivers_of_the_seam_in_tests_only(self):
        files = {'src/sim/disk.h': ''}
        for name in ('a_test.cc', 'a_fuzz.cc'):
            self.assertPasses({'src/model/' + name: '#include "sim/disk.h"\n', **files})
        self.assertFails({'src/model/a.cc': '#include "sim/disk.h"\n', **files}, 'src/model/a.cc:1', 'sim/disk.h')

    def test_helpers_of_tests_in_tests_only(self):
        files = {'src/base/folder_for_test.h': '#include <filesystem>\n'}
        included = '#include "base/folder_for_test.h"\n'
        for name in ('a_test.cc', 'a_fuzz.cc', 'a_for_test.h'):
            self.assertPasses({'src/data/' + name: included, **files})
        for name in ('a.cc', 'a.h'):
            self.assertFails({'src/data/' + name: included, **files}, f'src/data/{name}:1', 'for tests alone')

    def test_sideways_include(self):
        self.assertFails({'src/server/a.cc': '\n#include "worker/a.h"\n', 'src/worker/a.h': ''}, 'src/server/a.cc:2')

    def test_sideways_include_in_angle_brackets(self):
        self.assertFails({'src/server/a.cc': '#include <worker/a.h>\n', 'src/worker/a.h': ''}, 'worker/a.h')

    def test_public_header_includes_only_public_headers(self):
        self.assertFails({'include/thalweg/a.h': '#include "base/check.h"\n'}, 'thalweg includes base/check.h')

    def test_exchange_does_not_know_tables(self):
        self.assertFails({'src/exchange/a.cc': '#include "table/a.h"\n', 'src/table/a.h': ''}, 'exchange')

    def test_data_and_models_do_not_know_the_client(self):
        for folder in ('data', 'model'):
            self.assertFails({f'src/{folder}/a.cc': '#include "client/a.h"\n', 'src/client/a.h': ''}, folder)

    def test_the_program_knows_neither_the_client_nor_its_nodes(self):
        self.assertFails({'src/cli/a.cc': '#include "client/a.h"\n', 'src/client/a.h': ''}, 'cli includes client')
        files = {'src/cli/a.cc': '#include "train/a.h"\n', 'src/train/a.cc': '#include "client/a.h"\n',
                 'src/client/a.h': '#include "server/a.h"\n', 'src/server/a.h': '', 'src/train/a.h': ''}
        self.assertPasses(files)
        self.assertFails({**files, 'src/train/a.h': '#include "client/a.h"\n', 'src/client/a.h': ''},
                         'src/cli/a.cc:0: cli reaches client/a.h from train/a.h')

    def test_reaching_upward_through_a_header_of_a_lower_layer(self):
        files = {'src/cli/a.cc': '#include "data/a.h"\n', 'src/data/a.h': '#include "data/b.h"\n',
                 'src/table/a.h': '#include "base/check.h"\n'}
        self.assertPasses({**files, 'src/data/b.h': '#include "base/check.h"\n'})
        found = errors({**files, 'src/data/b.h': '#include "table/a.h"\n'})
        self.assertEqual(len(found), 3, found)        # The include, and both that reach it.
        self.assertIn('src/cli/a.cc:0: cli reaches table/a.h from data/b.h from data/a.h', found[0])

    def test_reaching_what_may_not_be_included(self):
        files = {'src/exchange/a.cc': '#include "topology/a.h"\n', 'src/table/a.h': ''}
        self.assertPasses({**files, 'src/topology/a.h': ''})
        found = errors({**files, 'src/topology/a.h': '#include "table/a.h"\n'})
        self.assertEqual(sum('exchange reaches table/a.h from topology/a.h' in e for e in found), 1, found)

    def test_links(self):
        files = {'src/table/a.cc': '#include "base/check.h"\n'}
        self.assertPasses({**files, 'src/table/CMakeLists.txt': 'thalweg_layer(table DEPS base LIBS fmt::fmt)\n'})
        self.assertFails({**files, 'src/table/CMakeLists.txt': 'thalweg_layer(table LIBS fmt::fmt)\n'},
                         'src/table/CMakeLists.txt:1', 'includes base', 'DEPS')
        self.assertFails({**files, 'src/table/CMakeLists.txt': 'thalweg_layer(table\n  DEPS base server)\n'},
                         'table links server')

    def test_links_of_tests_are_their_own(self):
        self.assertPasses({'src/model/a_test.cc': '#include "sim/disk.h"\n', 'src/sim/disk.h': '',
                           'src/model/CMakeLists.txt': 'thalweg_layer(model DEPS base TEST_DEPS sim)\n'})

    def test_table_in_the_guide(self):
        page = 'Layers:\n\n' + check_layers.table() + '\nMore.\n'
        self.assertPasses({'CONTRIBUTING.md': page})
        old = page.replace('| `data` |', '| `data` `table` |').replace('| 4 |', '| 5 |')
        self.assertFails({'CONTRIBUTING.md': old}, 'CONTRIBUTING.md', '--write')
        self.assertEqual(check_layers.with_table(old), page)

    def test_table_in_words(self):
        rows = check_layers.table().split('\n')
        self.assertIn('| 1 | `base` | 0 |', rows)
        self.assertIn('| 3 | `exchange` `cluster` `replication` `group` `quorum` | 0 to 2, but not `table` |', rows)
        self.assertIn('| 5 | `net` | 0, 1, `group` `node` |', rows)

    def test_include_without_folder(self):
        self.assertFails({'src/base/a.cc': '#include "check.h"\n'}, 'expected a path')

    def test_include_in_a_comment_passes(self):
        self.assertPasses({'src/base/a.cc': '// #include "table/a.h"\n/* \n#include "cli/b.h"\n*/\n'})

    def test_unknown_folder(self):
        self.assertFails({'src/utils/a.h': ''}, 'utils', 'no layer')

    def test_source_outside_a_layer(self):
        self.assertFails({'src/a.cc': ''}, 'folder of a layer')

    def test_crowded_folder(self):
        files = {f'src/cli/view/a{i}.h': '' for i in range(40)}
        self.assertPasses(files)
        self.assertFails({**files, 'src/cli/view/b.cc': ''}, 'src/cli/view:0', '41 files')
        self.assertFails({f'tests/process/a{i}.py': '' for i in range(41)}, 'tests/process:0', '41 files')
        self.assertPasses({f'docs/adr/{i}.md': '' for i in range(41)})

    def test_links_of_inner_folders(self):
        files = {'src/table/CMakeLists.txt': 'thalweg_layer(table)\n', 'src/base/b.h': ''}
        self.assertFails({**files, 'src/table/rule/a.cc': '#include "base/b.h"\n'}, 'table includes base', 'DEPS')

    def test_long_file(self):
        self.assertPasses({'src/cli/a.cc': '\n' * 500})
        self.assertFails({'src/cli/a.cc': '\n' * 501}, '501 lines')

    def test_long_function(self):
        body = 'namespace thalweg {\nint f(int a) {\n' + 'a++;\n' * 68 + '}\n}\n'
        self.assertPasses({'src/cli/a.cc': body})
        self.assertFails({'src/cli/a.cc': body.replace('a++;', 'a++;\n', 1)}, 'f has 71 lines', 'a.cc:2')

    def test_long_function_in_a_test(self):
        self.assertFails({'tests/process/a_test.cc': 'TEST(A, B) {\n' + '\n' * 70 + '}\n'}, 'TEST has 72 lines')

    def test_nondeterminism_in_the_core(self):
        for code in ('auto t = std::chrono::steady_clock::now();', 'using std::chrono::system_clock;',
                     'clock_gettime(0, &t);', 'long t = time(nullptr);', 'std::random_device d;', 'int x = rand();',
                     'auto e = std::getenv("A");', 'std::thread t(f);', 'std::jthread t(f);', 'auto f = std::async(g);',
                     'std::this_thread::sleep_for(d);', 'usleep(3);', 'std::mutex m;'):
            for path in ('src/base/a.cc', 'src/staleness/a_test.cc', 'src/scheduler/a.h'):
                with self.subTest(code=code, path=path):
                    self.assertFails({path: f'void f() {{\n  {code}\n}}\n'}, f'{path}:2')

    def test_outside_world_in_the_core(self):
        for code in ('#include <fstream>', '#include <iostream>', '#include <sys/socket.h>', '#include <asio.hpp>',
                     'auto f = fopen(name, mode);', 'int s = socket(a, b, c);', 'int d = ::open(path, 0);'):
            with self.subTest(code=code):
                self.assertFails({'src/wire/a.cc': f'\n{code}\n'}, 'a.cc:2')
                self.assertPasses({path: f'\n{code}\n' for path in
                                   ('src/wire/a_test.cc', 'src/wire/a_for_test.h', 'src/net/a.cc')})

    def test_words_that_only_look_alike_pass(self):
        self.assertPasses({'src/base/a.cc': 'Instant time() const;\nint brand(int);\nauto c = node.clock();\n'
                                            '// std::thread\nconst char* s = "rand()";\nf.open();\nbool open(Step s);\nif (open(s) && gate::open(s)) {}\n'
                                            'int reopen(int a);\nstruct Socket {};\nauto n = options.time(3);\n'})

    def test_outer_layers_may_use_clocks(self):
        self.assertPasses({'src/net/a.cc': 'auto t = std::chrono::steady_clock::now();\n'})

    def test_iteration_over_unordered(self):
        declaration = 'std::unordered_map<int, std::vector<int>> rows_;\n'
        loop = 'void f() {\n  for (const auto& [key, row] : rows_) g(key);\n}\n'
        self.assertFails({'src/server/a.cc': declaration + loop}, 'a.cc:3', 'rows_')
        self.assertFails({'src/server/a.h': declaration, 'src/server/a.cc': loop}, 'a.cc:2')
        self.assertFails({'src/server/a.cc': declaration + 'auto i = rows_.begin();\n'}, 'rows_')
        self.assertPasses({'src/server/a.cc': declaration + 'for (int x : sorted(rows)) g(x);\nauto i = rows_.find(3);\n'})
        self.assertPasses({'src/sim/a.cc': declaration + loop})


class FunctionsTest(unittest.TestCase):
    def names(self, code):
        return [(name, length) for _, name, length in cpp_source.functions(code)]

    def test_finds_functions_and_nothing_else(self):
        code = '''
namespace thalweg { namespace {
struct Point { int x = f({1}); int y{3};
  Point(int a, std::vector<int> b) noexcept(true) : x{a}, y(b.size()), z_{{}, 3} {
    if (a) { g(); }
  }
  bool operator==(const Point& o) const { return x == o.x; }
  auto operator()(int a) -> std::vector<int> { return {a}; }
  ~Point() = default;
};
constexpr int kTable[] = {f(1), 2};
const std::map<int, int> kMap{{1, 2}};
enum class E : int { kA = f(1) };
template <class T, int N = (3 > 2)> requires (N > 1)
T run(T a, int b = g(2), const char* s = "{(") const& {
  auto l = [&](int c) { return c; };
  for (int i = 0; i < 3; ++i) { l(i); }
  return '{';
}
#define OPEN {
auto kLambda = [](int a) {
  return a;
};
class Derived final : public Base<int(int)> { void m() override { } };
extern "C" { int c() { return 1; } }
}}
int main() try {
} catch (...) { }
TEST_F(Suite, Name) {
}
'''
        self.assertEqual(self.names(code), [
            ('Point', 3), ('operator_', 1), ('operator_', 1), ('run', 5), ('kLambda', 3), ('m', 1), ('c', 1),
            ('main', 2), ('TEST_F', 2)])

    def test_digit_separators_and_raw_strings(self):
        self.assertEqual(self.names('void f(int a = 1\'000\'000) {\n  s = R"x({{{)x";\n}\nvoid g() {}\n'),
                         [('f', 3), ('g', 1)])


if __name__ == '__main__':
    unittest.main()
