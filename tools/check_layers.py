#!/usr/bin/env python3
"""Fails when the sources break the architecture: layers, sizes, and what the sans-IO core may not use.

Usage: tools/check_layers.py [ROOT]    prints file:line: what is wrong, what was expected; exit 1 if anything.
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
    ['exchange', 'cluster', 'replication'],
    ['server', 'worker', 'scheduler'],
]
CORE = {folder for layer in LAYERS[1:] for folder in layer}


def _below(level):
    return {folder for layer in LAYERS[:level] for folder in layer}


# Folder: the folders that it may include, besides itself.
ALLOWED = {folder: _below(level) for level, layer in enumerate(LAYERS) for folder in layer}
ALLOWED['wire'] = _below(2) | {'placement'}  # A map carries placements.
ALLOWED['exchange'] = ALLOWED['cluster'] = ALLOWED['replication'] = _below(3) - {'table'}
ALLOWED['net'] = _below(2) | {'node'}
ALLOWED['sim'] = _below(5)
ALLOWED['client'] = _below(5) | {'net'}
ALLOWED['data'] = _below(2)
ALLOWED['model'] = _below(2) | {'node'}
ALLOWED['train'] = {PUBLIC, 'base', 'data', 'model'}
ALLOWED['cli'] = {PUBLIC, 'base', 'client', 'train', 'data', 'model', 'sim', 'net', 'topology', 'exchange'}

# Besides those, in tests only: drivers of the seam.
ALLOWED_IN_TESTS = {'model': {'net', 'sim'}}

FOR_TESTS = re.compile(r'_(?:test|fuzz)\.(?:cc|h)$')  # Those of helpers end in _for_test.h.

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70

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

    def fail(self, path, line, message):
        self.errors.append(f'{path.relative_to(self.root)}:{line}: {message}')

    def run(self):
        source = self.root / 'src'
        for folder in sorted(p for p in source.iterdir() if p.is_dir()):
            if folder.name not in ALLOWED:
                self.fail(folder, 0, f'folder {folder.name} has no layer; expected one of {_names(ALLOWED)}')
        for path in self._sources('src', 'include'):
            self._check_layer(path)
        for path in self._sources('src', 'include', 'tests', 'bench', 'examples'):
            self._check_size(path)
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
        allowed = ALLOWED[folder]
        if FOR_TESTS.search(path.name):
            allowed = allowed | ALLOWED_IN_TESTS.get(folder, set())
        elif FOR_TESTS.search(included):
            self.fail(path, line, f'includes {included}, which is for tests alone')
            return
        if '/' not in included or target not in ALLOWED:
            self.fail(path, line, f'includes "{included}"; expected a path from src/ or include/')
        elif target != folder and target not in allowed:
            self.fail(path, line, f'{folder} includes {included}; it may include {_names(allowed)}')

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


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    errors = Checker(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else default).run()
    print('\n'.join(errors) if errors else 'layers: every source keeps the rules')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
