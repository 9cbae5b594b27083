#!/usr/bin/env python3
"""Fails when the sources break the architecture: layers, sizes, and what the sans-IO core may not use.

Usage: tools/check_layers.py [ROOT]    prints file:line: what is wrong, what was expected; exit 1 if anything.
       tools/check_layers.py --write   writes the table of layers into CONTRIBUTING.md
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_source  # noqa: E402

# Layer, lowest first: the folders on it. PUBLIC is include/thalweg.
PUBLIC = 'thalweg'
LAYERS = [
    [PUBLIC],
    ['base'],
    ['node', 'wire', 'table', 'placement', 'staleness', 'topology'],
    ['exchange', 'cluster', 'replication', 'group', 'quorum', 'state'],
    ['server', 'worker', 'scheduler'],
    ['net', 'sim'],
    ['client', 'data', 'model', 'checkpoint'],
    ['train', 'torch'],
    ['cli'],
]
CORE = {folder for layer in LAYERS[1:5] for folder in layer}


def _below(level):
    return {folder for layer in LAYERS[:level] for folder in layer}


# Folder: the folders that it may include, besides itself, and may reach through what it includes.
ALLOWED = {folder: _below(level) for level, layer in enumerate(LAYERS) for folder in layer}
ALLOWED['wire'] = _below(2) | {'placement', 'staleness'}  # A map carries placements; servers tell what has reached them.
ALLOWED['exchange'] = ALLOWED['cluster'] = ALLOWED['replication'] = ALLOWED['group'] = _below(3) - {'table'}
ALLOWED['quorum'] = _below(3) - {'table'}
ALLOWED['state'] = _below(2) | {'node'}
ALLOWED['net'] = _below(2) | {'node', 'group'}
ALLOWED['client'] = _below(5) | {'net'}
ALLOWED['data'] = _below(2)
ALLOWED['model'] = _below(2) | {'node'}
ALLOWED['checkpoint'] = _below(5) | {'model'}  # What servers give out; how models keep files.
ALLOWED['train'] = {PUBLIC, 'base', 'table', 'net', 'sim', 'client', 'data', 'model', 'checkpoint'}
ALLOWED['torch'] = {PUBLIC, 'base', 'model'}  # Loaded, not linked: nobody includes it.
ALLOWED['cli'] = {PUBLIC, 'base', 'topology', 'exchange', 'net', 'sim', 'data', 'model', 'checkpoint', 'train'}

# Folder: what it reaches besides, through headers of others, and may not include itself.
# The program: seams, a disk and a clock; what net's groups are made of; how far shards have come, of a checkpoint.
REACHED = {'train': CORE, 'cli': {'node', 'group', 'staleness'}}

# Besides those, in tests only: drivers of the seam.
ALLOWED_IN_TESTS = {'state': {'net', 'sim'}, 'model': {'net', 'sim'}, 'checkpoint': {'net', 'sim'}}

FOR_TESTS = re.compile(r'_(?:test|fuzz)\.(?:cc|h)$')  # Those of helpers end in _for_test.h.

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_FOLDER_FILES = 40
FOLDERS = ('src', 'include', 'tests', 'bench', 'examples', 'docs', 'scripts', 'tools', 'cmake')
COLLECTIONS = {('docs', 'adr'), ('tests', 'corpus')}  # That grow by number, and nobody looks through for an idea.

# In the core, outside tests too: whatever makes a run differ from its replay.
NONDETERMINISM = [
    ('a clock', r'\bstd::chrono::\w*clock\b|\b(?:system|steady|high_resolution)_clock\b'
                r'|\b(?:clock_gettime|gettimeofday|std::time|std::clock)\s*\('
                r'|(?<![\w.>:])time\s*\(\s*(?:NULL|nullptr|0)\s*\)'),
    ('a random device', r'\brandom_device\b|(?<![\w.>:])(?:std::)?s?rand\s*\('),
    ('the environment', r'\b(?:secure_)?getenv\s*\('),
    ('a thread', r'\bstd::(?:jthread|thread|async|mutex|condition_variable)\b|\bpthread_\w+'),
    ('a sleep', r'\bsleep_(?:for|until)\b|(?<![\w.>:])(?:u|nano)?sleep\s*\('),
]
# In the core's own code; its tests may have files.
OUTSIDE_WORLD = [
    ('a stream or file', r'#\s*include\s*<(?:fstream|iostream|filesystem|fcntl\.h|unistd\.h)>'
                         r'|\bfopen\s*\(|(?<![\w>])::open\s*\('
                         r'|\bstd::(?:i|o)?fstream\b|\bstd::c(?:out|err|in)\b'),
    ('a socket', r'#\s*include\s*<(?:sys/socket\.h|netinet/\w+\.h|asio[^>]*)>|(?<![\w.>:])::?socket\s*\('
                 r'|(?<![\w.>:])(?:socket|recvmsg|sendmsg)\s*\('),
]


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.errors = []
        self.inner = {}  # By source.

    def fail(self, path, line, message):
        self.errors.append(f'{path.relative_to(self.root)}:{line}: {message}')

    def run(self):
        source = self.root / 'src'
        for folder in sorted(p for p in source.iterdir() if p.is_dir()):
            if folder.name not in ALLOWED:
                self.fail(folder, 0, f'folder {folder.name} has no layer; expected one of {_names(ALLOWED)}')
        for path in self._sources('src', 'include'):
            self._check_layer(path)
            self._check_reach(path)
        for path in sorted(source.glob('*/CMakeLists.txt')):
            self._check_links(path)
        self._check_table()
        for path in self._sources('src', 'include', 'tests', 'bench', 'examples'):
            self._check_size(path)
        for folder in self._folders():
            self._check_folder(folder)
        return self.errors

    def _sources(self, *tops):
        for top in tops:
            for path in sorted((self.root / top).rglob('*')):
                if path.suffix in ('.h', '.cc', '.inc') and path.is_file():
                    yield path

    def _folder(self, path):
        parts = path.relative_to(self.root).parts
        return parts[1] if len(parts) > 2 else None

    def _check_layer(self, path):
        folder, text = self._folder(path), path.read_text()
        if folder is None:
            self.fail(path, 0, 'a source belongs in the folder of a layer')
            return
        if folder not in ALLOWED:
            return
        for line, included, quoted in cpp_source.includes(text):
            self._check_include(path, line, folder, included, quoted)
        if folder in CORE:
            self._check_core(path, text)

    def _check_include(self, path, line, folder, included, quoted):
        target = included.split('/')[0]
        if not quoted and target != PUBLIC and not (target in ALLOWED and (self.root / 'src' / included).exists()):
            return                                    # The standard library or an outside one.
        if target == 'hwy':
            return                                    # Highway's own headers are written in quotes.
        allowed = self._allowed(path)
        if not FOR_TESTS.search(path.name) and FOR_TESTS.search(included):
            self.fail(path, line, f'includes {included}, which is for tests alone')
            return
        if '/' not in included or target not in ALLOWED:
            self.fail(path, line, f'includes "{included}"; expected a path from src/ or include/')
        elif target not in allowed:
            self.fail(path, line, f'{folder} includes {included}; it may include {_names(allowed - {folder})}')

    def _allowed(self, path):
        folder = self._folder(path)
        tests = ALLOWED_IN_TESTS.get(folder, set()) if FOR_TESTS.search(path.name) else set()
        return {folder} | ALLOWED[folder] | tests

    def _inner_includes(self, path):
        """The tree's own headers that a source includes."""
        if path not in self.inner:
            tops = ('src', 'include')
            found = (self.root / top / name for _, name, _ in cpp_source.includes(path.read_text()) for top in tops)
            self.inner[path] = [header for header in found if header.is_file()]
        return self.inner[path]

    def _check_reach(self, path):
        """What a source sees through the headers that it includes, however many lie between."""
        folder = self._folder(path)
        if folder not in ALLOWED:
            return
        allowed = self._allowed(path) | REACHED.get(folder, set())
        through, todo = {path: None}, [path]
        for header in todo:                           # Grows: nearest headers first.
            for inner in self._inner_includes(header):
                if inner not in through:
                    through[inner] = header
                    todo.append(inner)
        told = set(_direct(self._inner_includes(path), self._folder))
        for header in todo[1:]:
            reached = self._folder(header)
            if reached in allowed or reached in told or reached not in ALLOWED:
                continue                              # What it includes itself is told elsewhere.
            told.add(reached)
            chain = [header]
            while through[chain[-1]] != path:
                chain.append(through[chain[-1]])
            self.fail(path, 0, f'{folder} reaches {" from ".join(self._name(h) for h in chain)}; '
                               f'it may reach {_names(allowed - {folder})}')

    def _name(self, header):
        return '/'.join(header.relative_to(self.root).parts[1:])

    def _check_links(self, path):
        """A folder links what the table allows, and says itself what its sources include."""
        folder = self._folder(path)
        call = re.search(r'\bthalweg_layer\(([^()]*)\)', path.read_text())
        if folder not in ALLOWED or call is None:
            return
        words, linked = call.group(1).split()[1:], set()
        keyword = None
        for word in words:
            keyword = word if word.isupper() else keyword
            if keyword == 'DEPS' and word != 'DEPS':
                linked.add(word)
        included = {other for source in path.parent.rglob('*') if source.suffix in ('.h', '.cc', '.inc')
                    if not FOR_TESTS.search(source.name) and not source.name.endswith('_for_test.h')
                    for other in _direct(self._inner_includes(source), self._folder)} - {folder, PUBLIC}
        for other in sorted(linked - ALLOWED[folder]):
            self.fail(path, 1, f'{folder} links {other}; it may link {_names(ALLOWED[folder] - {PUBLIC})}')
        for other in sorted(included - linked):
            self.fail(path, 1, f'{folder} includes {other}; expected it among its DEPS')

    def _check_table(self):
        path = self.root / 'CONTRIBUTING.md'
        if path.is_file() and with_table(path.read_text()) != path.read_text():
            self.fail(path, 0, 'its table of layers is not that of tools/check_layers.py; run it with --write')

    def _check_core(self, path, text):
        code = cpp_source.blank(text)
        for what, pattern in NONDETERMINISM + ([] if FOR_TESTS.search(path.name) else OUTSIDE_WORLD):
            for match in re.finditer(pattern, code):
                self.fail(path, _line(code, match.start()),
                          f'uses {what} ({match.group(0).strip()}); layers 1 to 4 have none')
        self._check_unordered(path, code)

    def _check_unordered(self, path, code):
        header = path.with_suffix('.h')
        declared = _unordered_names(code)
        if path.suffix == '.cc' and header.exists():
            declared |= _unordered_names(cpp_source.blank(header.read_text()))
        for match in re.finditer(r'\bfor\s*\([^;{}]*?[^:]:(?!:)\s*([^;{}]*?)\)\s*[^)\s]', code):
            name = re.search(r'(\w+)(?:\(\))?\s*$', match.group(1))
            if 'unordered_' in match.group(1) or (name and name.group(1) in declared):
                self.fail(path, _line(code, match.start()),
                          f'iterates over the unordered {match.group(1).strip()}; its order is not part of a run')
        for name in declared:
            for match in re.finditer(rf'\b{name}(?:\.|->)c?begin\s*\(', code):
                self.fail(path, _line(code, match.start()),
                          f'iterates over the unordered {name}; its order is not part of a run')

    def _folders(self):
        for top in FOLDERS:
            for folder in sorted([self.root / top, *(self.root / top).rglob('*')]):
                inside = folder.relative_to(self.root).parts
                if folder.is_dir() and '__pycache__' not in inside and inside[:2] not in COLLECTIONS:
                    yield folder

    def _check_folder(self, folder):
        files = sum(1 for path in folder.iterdir() if path.is_file())
        if files > MAX_FOLDER_FILES:
            self.fail(folder, 0, f'{files} files; at most {MAX_FOLDER_FILES}: split it where ideas part')

    def _check_size(self, path):
        text = path.read_text()
        lines = text.count('\n')
        if lines > MAX_FILE_LINES:
            self.fail(path, lines, f'{lines} lines; at most {MAX_FILE_LINES}: split it by idea')
        for line, name, length in cpp_source.functions(text):
            if length > MAX_FUNCTION_LINES:
                self.fail(path, line, f'{name} has {length} lines; at most {MAX_FUNCTION_LINES}')


def _unordered_names(code):
    names = set()
    for match in re.finditer(r'\b(?:std::unordered_(?:multi)?(?:map|set)|absl::flat_hash_(?:map|set))\s*<', code):
        depth, end = 1, match.end()
        while end < len(code) and depth:
            depth += {'<': 1, '>': -1}.get(code[end], 0)
            end += 1
        name = re.match(r'\s*[&*]?\s*(\w+)', code[end:])
        if name and name.group(1) != 'const':
            names.add(name.group(1))
    return names


def _line(code, position):
    return code.count('\n', 0, position) + 1


def _names(folders):
    return ' '.join(sorted(folders)) or 'nothing'


def _direct(headers, folder_of):
    return [folder_of(header) for header in headers]


def _in_words(folders):
    """A set of folders as whole layers and what is missing of them or comes besides, in the fewest words."""
    best = None
    for level in range(len(LAYERS) + 1):
        whole = _below(level)
        missing, more = sorted(whole - folders), sorted(folders - whole)
        words = [] if level == 0 else ['0'] if level == 1 else ['0, 1'] if level == 2 else [f'0 to {level - 1}']
        text = ', '.join(words + ([' '.join(f'`{folder}`' for folder in more)] if more else []))
        text += ', but not ' + ' '.join(f'`{folder}`' for folder in missing) if missing else ''
        cost = len(words) + 2 * len(missing) + len(more)
        if best is None or cost <= best[0]:
            best = (cost, text)
    return best[1] or 'nothing'


def table():
    """The layers as a table of Markdown."""
    lines = ['| layer | folders | may include and reach |', '|---|---|---|']
    for level, layer in enumerate(LAYERS):
        rows = {}
        for folder in layer:
            words = _in_words(ALLOWED[folder] - {folder})
            words += '; through these also ' + _in_words(REACHED[folder] | ({PUBLIC} if 'base' in REACHED[folder] else set())) if folder in REACHED else ''
            rows.setdefault(words, []).append('include/thalweg' if folder == PUBLIC else folder)
        for words, folders in rows.items():
            lines.append(f'| {level} | {" ".join(f"`{folder}`" for folder in folders)} | {words} |')
    return '\n'.join(lines) + '\n'


def with_table(text):
    """A page with the table as it is now in the place of the one that it has."""
    return re.sub(r'(?m)^\| layer \|.*\n(?:\|.*\n)*', lambda _: table(), text, count=1)


def main():
    if sys.argv[1:] == ['--write']:
        page = pathlib.Path(__file__).resolve().parent.parent / 'CONTRIBUTING.md'
        page.write_text(with_table(page.read_text()))
    default = pathlib.Path(__file__).resolve().parent.parent
    errors = Checker(pathlib.Path(sys.argv[1]).resolve() if sys.argv[1:] not in ([], ['--write']) else default).run()
    print('\n'.join(errors) if errors else 'layers: every source keeps the rules')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
