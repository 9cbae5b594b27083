"""A C++ source as text that can be searched: comments and literals blanked, functions found by their braces."""
import re

_BLANKED = re.compile(
    r'//(?:[^\\\n]|\\.|\\\n)*'                       # Line comment, continued by a backslash.
    r'|/\*.*?\*/'
    r'|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'  # Raw string.
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|(?<![0-9a-zA-Z_])(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'", re.DOTALL)
_CONTROL = {'if', 'for', 'while', 'switch', 'catch', 'do', 'else', 'try', 'return'}


def blank(text, keep_strings=False):
    """The text with comments and literals replaced by spaces; every line keeps its number."""
    def spaces(match):
        found = match.group(0)
        if keep_strings and not found.startswith('/'):
            return found
        return re.sub(r'[^\n]', ' ', found)
    return _BLANKED.sub(spaces, text)


def includes(text):
    """(line, path, quoted) of each #include."""
    for number, line in enumerate(blank(text, keep_strings=True).split('\n'), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            yield number, match.group(2), match.group(1) == '"'


def functions(text):
    """(first line, name, number of lines) of each outermost function body, braces included."""
    code = _without_directives(blank(text))
    head_start, outer, line = 0, [], 1
    inside = None                                     # (depth, line, name) of the function being read.
    for position, char in enumerate(code):
        if char == '\n':
            line += 1
        elif char == '{':
            head = code[head_start:position]
            if inside is None and _opens_function(head):
                inside = (len(outer), line, _name(head))
            # An initializer in a constructor's list leaves the list's head as it was.
            outer.append(head_start if inside is None and _in_initializer_list(head) else None)
            if outer[-1] is None:
                head_start = position + 1
        elif char == '}':
            if not outer:
                return
            kept = outer.pop()
            if inside and len(outer) == inside[0]:
                yield inside[1], inside[2], line - inside[1] + 1
                inside = None
            head_start = position + 1 if kept is None else kept
        elif char == ';':
            if not _inside_parentheses(code[head_start:position]):
                head_start = position + 1


def _without_directives(code):
    """Preprocessor lines blanked, with the lines that continue them."""
    return re.sub(r'(?m)^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), code)


def _inside_parentheses(head):
    return head.count('(') > head.count(')')


def _strip(head):
    """The head without operators' names, template parameters and what stands in parentheses."""
    head = re.sub(r'\boperator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+)', 'operator_', head)
    previous = None
    while previous != head:
        previous = head
        head = re.sub(r'\(([^()]*)\)', '@', head)     # '@' stands for one balanced pair.
    while True:
        match = re.search(r'\btemplate\s*<', head)
        if not match:
            return head
        depth, end = 1, match.end()
        while end < len(head) and depth:
            depth += {'<': 1, '>': -1}.get(head[end], 0)
            end += 1
        head = head[:match.start()] + head[end:]


def _initializer_colon(flat):
    return re.search(r'@[^:?=]*?(?<!:):(?!:)', flat)


def _in_initializer_list(head):
    flat = _strip(head)
    return bool(_initializer_colon(flat)) and '(' not in flat and bool(re.search(r'[\w>]\s*$', flat)) \
        and not _last_word(flat) in ('const', 'noexcept', 'override', 'final')


def _last_word(flat):
    match = re.search(r'(\w+)\s*$', flat)
    return match.group(1) if match else ''


def _opens_function(head):
    flat = _strip(head)
    if '@' not in flat or '(' in flat:
        return False
    first = re.match(r'\s*(?:\}|\s)*(\w+)?', flat).group(1)
    if first in _CONTROL or first == 'namespace' or re.match(r'\s*extern\s*$', flat):
        return False
    if re.match(r'\s*(?:typedef\s+)?(?:class|struct|union|enum)\b', flat) and not re.search(r'\w\s*@\s*[\w\s]*$', flat):
        return False
    before = flat.split('@')[0]
    if re.search(r'(?<![=!<>])=(?!=)', before):
        return bool(re.search(r'\[[^\]]*\]\s*@[^;=]*$', flat))  # A lambda that a variable holds.
    colon = _initializer_colon(flat)
    if colon:
        return bool(re.search(r'[@}]\s*$', flat))
    return True


def _name(head):
    flat = re.sub(r'\brequires\s*@', '', _strip(head))
    match = re.search(r'([\w:~]+)\s*@', flat) or re.search(r'(\w+)\s*=', flat)
    return match.group(1) if match else '?'
