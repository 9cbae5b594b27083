#!/usr/bin/env python3
"""check_local_names.py fails on names in each other's way, and passes on those that are not."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_local_names  # noqa: E402


def own(text, space='thalweg'):
    return f'namespace {space} {{\nnamespace {{\n\n{text}\n\n}}  // namespace\n}}  // namespace {space}\n'


def errors(files):
    """What the check says of a tree made of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check_local_names.errors(root)


class LocalNamesTest(unittest.TestCase):
    def test_two_sources_of_a_layer(self):
        for text in ('struct Case {};', 'enum class Case {};', 'constexpr int kRows = 3;', 'const Case kRows[2] = {};'):
            found = errors({'src/net/a.cc': own(text), 'src/net/tcp/b.cc': own(text)})
            self.assertEqual(len(found), 1, text)
            self.assertIn('src/net/tcp/b.cc:4', found[0])

    def test_of_different_layers_namespaces_or_purposes(self):
        text = own('struct Case {};')
        self.assertEqual(errors({'src/net/a.cc': text, 'src/sim/a.cc': text}), [])
        self.assertEqual(errors({'src/net/a.cc': text, 'src/net/b.cc': own('struct Case {};', 'thalweg::wire')}), [])
        self.assertEqual(errors({'src/net/a.cc': text, 'src/net/a_test.cc': text}), [])

    def test_the_same_alias_is_no_other(self):
        self.assertEqual(errors({'src/net/a.cc': own('using T = int;'), 'src/net/b.cc': own('using T = int;')}), [])
        self.assertEqual(len(errors({'src/net/a.cc': own('using T = int;'), 'src/net/b.cc': own('using T = long;')})), 1)

    def test_a_header_that_may_be_seen(self):
        header = 'namespace thalweg {\n\nstruct Key {\n};\n\n}  // namespace thalweg\n'
        for path in ('include/thalweg/key.h', 'src/base/key.h', 'src/net/key.h'):
            self.assertEqual(len(errors({path: header, 'src/net/a.cc': own('struct Key {};')})), 1, path)
        self.assertEqual(errors({'src/cli/key.h': header, 'src/net/a.cc': own('struct Key {};')}), [])

    def test_members_and_declarations_are_none(self):
        self.assertEqual(errors({'src/net/a.h': 'namespace thalweg {\nclass Ring;\n}\n',
                                 'src/net/a.cc': own('struct Ring::Part {};\nint count(int kRows);')}), [])


if __name__ == '__main__':
    unittest.main()
