#!/usr/bin/env python3
"""Fails where the documentation has come apart from the tree and the program.

Usage: tools/check_docs.py ROOT [PROGRAM]    prints file:line: what is wrong; exit 1 if anything.

In every *.md file: relative links and their #headings lead somewhere; paths in backticks that start with a
folder of the tree exist (globs and {a,b} allowed); and each `thalweg COMMAND --flag`, in backticks or in a block
of shell commands, is one that PROGRAM, asked through its own help, knows. Without PROGRAM the last is not checked.
A block of ```cpp PATH stands line by line in that file. Tests that are named, `Suite.Name`, --gtest_filter=... or ctest -R ..., exist; sizes beside a constant, 64 MiB
(`kSomethingMax`), are the constant's; numbers of what the sources list, "ten update rules", are those of the list; and
each metric has its row in docs/cli.md, each algorithm in docs/algorithms.md.
"""
import fnmatch
import glob
import itertools
import pathlib
import re
import subprocess
import sys

FOLDERS = ('src', 'include', 'docs', 'scripts', 'tests', 'tools', 'bench', 'examples', 'cmake', 'python')
SHELL_BLOCKS = ('', 'sh', 'bash', 'console')
# The source's list of what a number in words counts: file, name of the enum or of the macro that lists them, and how
# many of it are not meant.
LISTS = {
    'update rules': ('include/thalweg/rule_kinds.h', 'THALWEG_RULES', 0),
    'routes': ('src/exchange/route/routes.h', 'THALWEG_ROUTES', 1),  # packed-trees, which groups refuse.
}
NUMBERS = ('no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen '
           'seventeen eighteen nineteen twenty').split()
# Where descriptors are, and the page that has a row for each: | `name` | summary |
TABLES = (('src/model/metric/*.cc', 'docs/cli.md'), ('src/train/algorithm/*.cc', 'docs/algorithms.md'))
DESCRIPTOR = re.compile(r'\.name = "([^"]+)",\s*\.summary = "([^"]+)"')
COUNT = re.compile(r'\b(%s|\d+) (%s)\b' % ('|'.join(NUMBERS[5:]), '|'.join(LISTS)))
UNITS = {'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30, 'KB': 10**3, 'MB': 10**6, 'GB': 10**9}
SIZE = re.compile(r'(\d+) (%s) \(`(k[A-Z]\w*)`\)' % '|'.join(UNITS))
TEST_NAME = re.compile(r'[A-Z]\w*\.[A-Z]\w*')
TEST_FILTER = re.compile(r'--gtest_filter=[\'"]?([^\s\'"`]+)')
CTEST_FILTER = re.compile(r'\bctest\b.*? -R [\'"]?([^\s\'"`]+)')
FENCE = re.compile(r'^\s*```\s*(\w*)')
INLINE_CODE = re.compile(r'(?<!`)`([^`]+)`(?!`)')
EXAMPLE = re.compile(r'^```cpp (\S+)\n(.*?)^```', re.M | re.S)
LINK = re.compile(r'\]\(([^)\s]+)(?:\s+"[^"]*")?\)')
# At a command's place: first on the line, behind a prompt or assignments, or behind a shell operator.
COMMAND = re.compile(r'(?:^\s*(?:\$ )?|[|;&]\s*)(?:\w+=\S*\s+|time\s+)*(?:[\w.$/{}]*/)?thalweg(?=\s|$)([^|;&<>#`]*)')


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r'[`*]|\[([^\]]*)\]\([^)]*\)', r'\1', heading).strip().lower()
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def lines_of(path):
    """(number, line, language of the block that the line stands in or None); fences themselves left out."""
    language = None
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        fence = FENCE.match(line)
        if fence:
            language = fence.group(1) if language is None else None
        else:
            yield number, line, language


def anchors_of(path):
    return {slug(line.lstrip('#')) for _, line, block in lines_of(path)
            if block is None and line.startswith('#')}


def expand_braces(path):
    parts = [part.split(',') if i % 2 else [part] for i, part in enumerate(re.split(r'\{([^}]*)\}', path))]
    return [''.join(choice) for choice in itertools.product(*parts)]


class Program:
    """What the program says of itself."""

    def __init__(self, path):
        self.path = path
        self.commands = re.findall(r'^  ([a-z]+(?: [a-z]+)*)  +\S', self._help(), re.M)
        self.flags = {}

    def _help(self, *words):
        done = subprocess.run([self.path, 'help', *words], capture_output=True, text=True, check=True)
        return done.stdout

    def flags_of(self, command):
        if command not in self.flags:
            options = re.findall(r'^ +(?:(-\w), )?(--[a-z][a-z0-9-]*(?:, --[a-z][a-z0-9-]*)*)', self._help(*command.split()), re.M)
            self.flags[command] = {flag for letter, names in options for flag in (letter, *names.split(", ")) if flag}
        return self.flags[command]

    def check(self, words):
        """What is wrong with `thalweg WORDS...`, or None."""
        if words and words[0].startswith('-'):
            return None if words[0] in ('--help', '-h', '--version') else f'no option {words[0]} before a command'
        plain = list(itertools.takewhile(lambda word: re.fullmatch(r'[a-z]+', word), words))
        if not plain:
            return None  # A placeholder, or nothing.
        for length in range(min(len(plain), 2), 0, -1):
            command = ' '.join(plain[:length])
            if command in self.commands:
                return self._check_flags(command, words[length:])
        if len(plain) == 1 and any(known.startswith(plain[0] + ' ') for known in self.commands):
            return None  # A group of commands.
        return f'no command "{" ".join(plain[:2])}"'

    def _check_flags(self, command, words):
        if command in ('config show', 'help'):
            return None  # Their arguments are other commands with their options.
        for word in itertools.takewhile(lambda word: word != '--', words):
            flag = word.strip('[]').split('=')[0]
            if re.fullmatch(r'--?[A-Za-z][\w-]*', flag) and flag not in self.flags_of(command):
                return f'thalweg {command} has no option {flag}'
        return None


class Sources:
    """What the sources say of tests, constants and lists."""

    def __init__(self, root):
        self.root = root
        self.gtests, self.ctests, self.constants = set(), set(), {}
        for path in sorted([*root.glob('src/**/*.cc'), *root.glob('src/**/*.h'), *root.glob('include/**/*.h'),
                            *root.glob('tests/**/*.cc')]):
            text = path.read_text(encoding='utf-8')
            for suite, name in re.findall(r'^TEST(?:_[FP])?\((\w+), (\w+)\)', text, re.M):
                self.gtests.add(f'{suite}.{name}')
                self.ctests.add(f'{path.parent.name}.{suite}.{name}')
            for name, value in re.findall(r'\bconstexpr [\w:]+\s+(k[A-Z]\w*)\s*=\s*([^;]+);', text):
                self.constants.setdefault(name, set()).add(value)
        for path in root.glob('**/CMakeLists.txt'):
            text = path.read_text(encoding='utf-8')
            self.ctests.update(re.findall(r'(?:add_test\(NAME (?:\$\{\w+\})?|thalweg_program_test\()([\w.]+)', text))
            self.ctests.update(f'tree.{name}' for name in re.findall(r'thalweg_tree_test\((\w+)', text))

    def has_test(self, name):
        return name in self.gtests

    def filter_finds(self, patterns):
        """None of the parts of a --gtest_filter is in vain."""
        names = [name for test in self.gtests for name in (test, f'x/{test}/x')]
        return all(any(fnmatch.fnmatchcase(name, part) for name in names)
                   for part in patterns.partition('-')[0].split(':') if part)

    def value_of(self, constant):
        """In bytes, or None where it is no plain arithmetic or has several values."""
        values = self.constants.get(constant, ())
        plain = {' '.join(re.sub(r"std::\w+\{(\d+)\}|'", r'\1', value).split()) for value in values}
        if len(plain) != 1 or not re.fullmatch(r'[\d <*+()]+', *plain):
            return None
        return eval(*plain)  # Digits and operators alone.

    def length_of(self, noun):
        file, enum, others = LISTS[noun]
        path = self.root / file
        text = path.read_text(encoding='utf-8') if path.exists() else ''
        found = re.search(r'enum class %s\b[^{]*\{(.*?)\};|#define %s\(\w+\)((?:[^\n]*\\\n)*[^\n]*)' % (enum, enum), text, re.S)
        if not found:
            return None
        listed = re.findall(r'^\s*k[A-Z]\w*', re.sub(r'//.*', '', found.group(1)), re.M) if found.group(1) else \
            re.findall(r'\(k[A-Z]\w*[,)]', found.group(2))
        return len(listed) - others


class Checker:
    def __init__(self, root, program=None):
        self.root = pathlib.Path(root).resolve()
        self.sources = Sources(self.root)
        self.program = Program(program) if program else None
        self.errors = []

    def run(self):
        for path in sorted(self.root.rglob('*.md')):
            if path.relative_to(self.root).parts[0] not in ('build', '.git'):
                self._check_file(path)
        self._check_tables()
        return self.errors

    def _fail(self, path, line, message):
        self.errors.append(f'{path.relative_to(self.root)}:{line}: {message}')

    def _check_tables(self):
        for sources, page in TABLES:
            path = self.root / page
            text = path.read_text(encoding='utf-8') if path.is_file() else ''
            for source in sorted(self.root.glob(sources)):
                for name, summary in DESCRIPTOR.findall(source.read_text(encoding='utf-8')):
                    if f'| `{name}` | {summary} |' not in text:
                        self._fail(path, 1, f'no row | `{name}` | {summary} | for {source.relative_to(self.root)}')

    def _check_examples(self, path):
        """Lines of a block that names a file stand there, in this order; what a line ... leaves out does too."""
        text = path.read_text(encoding='utf-8')
        for block in EXAMPLE.finditer(text):
            number, file = text.count('\n', 0, block.start()) + 1, self.root / block.group(1)
            if not file.is_file():
                self._fail(path, number, f'an example of {block.group(1)}, which is not there')
                continue
            rest = iter(line.strip() for line in file.read_text(encoding='utf-8').splitlines())
            for line in filter(lambda line: line not in ('', '...'), map(str.strip, block.group(2).splitlines())):
                if line not in rest:                  # Goes on behind the line that was found before.
                    self._fail(path, number, f'{block.group(1)} has no such line there: {line}')
                    break

    def _check_file(self, path):
        self._check_examples(path)
        command = ''  # A command that goes on over several lines.
        for number, line, block in lines_of(path):
            self._check_filters(path, number, line)
            if block is None:
                self._check_prose(path, number, line)
            elif block in SHELL_BLOCKS:
                command += line
                if command.endswith('\\'):
                    command = command[:-1]
                    continue
                self._check_commands(path, number, command)
            command = ''

    def _check_filters(self, path, number, line):
        for patterns in TEST_FILTER.findall(line):
            if not self.sources.filter_finds(patterns):
                self._fail(path, number, f'--gtest_filter={patterns} finds no test')
        for pattern in CTEST_FILTER.findall(line):
            if not any(re.search(pattern, name) for name in self.sources.ctests):
                self._fail(path, number, f'ctest -R {pattern} finds no test')

    def _check_numbers(self, path, number, line):
        for size, unit, constant in SIZE.findall(line):
            value = self.sources.value_of(constant)
            if value != int(size) * UNITS[unit]:
                self._fail(path, number, f'{size} {unit}: {constant} is {value} bytes')
        for count, noun in COUNT.findall(line):
            length = self.sources.length_of(noun)
            if length != (int(count) if count.isdigit() else NUMBERS.index(count)):
                self._fail(path, number, f'{count} {noun}: there are {length}')

    def _check_prose(self, path, number, line):
        self._check_numbers(path, number, line)
        for code in INLINE_CODE.findall(line):
            if TEST_NAME.fullmatch(code) and not self.sources.has_test(code):
                self._fail(path, number, f'`{code}`: there is no such test')
            self._check_path(path, number, code)
            self._check_commands(path, number, code)
        for target in LINK.findall(INLINE_CODE.sub('', line)):
            if not re.match(r'[a-z]+:', target):
                self._check_link(path, number, target)

    def _check_link(self, path, number, target):
        name, _, anchor = target.partition('#')
        file = (path.parent / name) if name else path
        if not file.exists():
            self._fail(path, number, f'link to {target}: there is no {name}')
        elif anchor and file.suffix == '.md' and anchor not in anchors_of(file):
            self._fail(path, number, f'link to {target}: no heading has this anchor')

    def _check_path(self, path, number, code):
        if not re.match(rf'(?:\./)?(?:{"|".join(FOLDERS)})/', code):
            return
        name = re.sub(r':[\d:]+$', '', code.split()[0]).removeprefix('./')
        for part in expand_braces(name):
            if not glob.glob(str(self.root / part)):
                self._fail(path, number, f'`{code}`: there is no {part}')

    def _check_commands(self, path, number, text):
        for arguments in COMMAND.findall(text) if self.program else []:
            wrong = self.program.check(arguments.split())
            if wrong:
                self._fail(path, number, wrong)


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    errors = Checker(*arguments).run()
    print('\n'.join(errors) or 'the documentation agrees with the tree and the program')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
