"""Ranks in C and in Python in one group, and what the shared library shows of itself.

Usage: run.py LIBRARY PROGRAM SCRIPT   LIBRARY is the shared library, SCRIPT the same rank in Python as PROGRAM in C.
"""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / 'process'))
from reserved_port import reserved_port  # noqa: E402
RANKS = 4


def check_exports(library):
    shown = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1].split('@')[0] for line in shown.splitlines() if ' A ' not in line}
    header = (HERE.parent.parent / 'include/thalweg/thalweg.h').read_text()
    declared = set(re.findall(r'\b(thalweg_\w+)\(', re.sub(r'/\*.*?\*/', '', header, flags=re.S)))
    assert names == declared, f'exported but not declared: {names - declared}; declared only: {declared - names}'


def main():
    library, program, script = sys.argv[1:]
    check_exports(library)
    kept, port = reserved_port()
    ranks = []
    for rank in range(RANKS):
        command = [program] if rank % 2 == 0 else [sys.executable, str(HERE / script), library]
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR='127.0.0.1',
                           MASTER_PORT=str(port))
        ranks.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True))
    failed = False
    for rank, process in enumerate(ranks):
        output = process.communicate(timeout=90)[0]
        if process.returncode != 0 or f'rank {rank} of {RANKS}: fine' not in output:
            print(f'rank {rank} ended with {process.returncode}: {output}')
            failed = True
    sys.exit(failed)


main()
