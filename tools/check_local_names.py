#!/usr/bin/env python3
"""Fails when files of a layer that may be compiled as one have names in each other's way: docs/adr/0073.

A type or constant of a source's own is no other source's of the same layer, tests apart from the rest, and no type's of a
header that the layer may reach.

Usage: tools/check_local_names.py [ROOT]    prints file:line: what is wrong; exit 1 if anything.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_layers  # noqa: E402
import cpp_source  # noqa: E402

NAMESPACE = re.compile(r'^namespace ([\w:]+) \{', re.M)
TYPE = re.compile(r'^(?:struct|class|enum class|enum|using) (\w+)\b(?: final)?\s*(?=[{=:][^:])', re.M)
CONSTANT = re.compile(r'^(?:static )?const(?:expr)? [^=({;]*?\b(k[A-Z]\w*)(?:\[\w*\])?\s*(?=[={(])', re.M)


def _found(code, pattern):
    """(namespace, name, line, text) of what a pattern finds at the left edge."""
    spaces = [(m.start(), m.group(1)) for m in NAMESPACE.finditer(code)]
    for match in pattern.finditer(code):
        inside = [name for start, name in spaces if start < match.start()]
        line = code.count('\n', 0, match.start()) + 1
        yield '::'.join(inside[-1:]), match.group(1), line, code[match.start():].partition('\n')[0]


def errors(root):
    root = pathlib.Path(root)
    code = {path: cpp_source.blank(path.read_text()) for top in ('src', 'include')
            for path in sorted((root / top).rglob('*')) if path.suffix in ('.h', '.cc')}
    shared = {}  # (folder, namespace, name): the header.
    for path, text in code.items():
        if path.suffix == '.h':
            for space, name, _, line in _found(text, TYPE):
                shared[path.relative_to(root).parts[1], space, name] = path, line
    taken, found = {}, []
    for path, text in code.items():
        folder = path.relative_to(root).parts[1]
        if path.suffix != '.cc' or folder not in check_layers.ALLOWED or path.name.endswith('_fuzz.cc'):
            continue
        test = bool(check_layers.FOR_TESTS.search(path.name))
        reached = {folder} | check_layers.ALLOWED[folder] | check_layers.REACHED.get(folder, set())
        for pattern in (TYPE, CONSTANT):
            for space, name, line, own in _found(text, pattern):
                known = [shared[at, space, name] for at in sorted(reached) if (at, space, name) in shared]
                known = [one for one in known if test or '_for_test' not in one[0].name]
                other, said = (known or [taken.setdefault((folder, test, space, name), (path, own))])[0]
                if other != path and not (own.startswith('using') and own == said):
                    found.append(f'{path.relative_to(root)}:{line}: {name} is also in {other.relative_to(root)}; '
                                 'files of a layer may be compiled as one')
    return found


def main():
    found = errors(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    print('\n'.join(found) or 'local names: no two files of a layer are in each other\'s way')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
