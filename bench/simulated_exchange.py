#!/usr/bin/env python3
"""How fast exchanges among many ranks are simulated: seconds of one core, messages, events, memory.

Usage: bench/simulated_exchange.py [PROGRAM [RANKS]]    PROGRAM: build/release/thalweg; RANKS: 10000.
"""
import json
import resource
import subprocess
import sys

SWITCH = 'uniform:{ranks},10Gbit/s,1us'
CASES = [('ring', SWITCH, ['--no-pipeline']), ('hierarchical', SWITCH, ['--no-pipeline']), ('double-tree', SWITCH, []),
         ('ring', 'fat-tree', ['--no-pipeline'])]


def main(program='build/release/thalweg', ranks='10000'):
    print(f'{"route":<14}{"on":<10}{"messages":>12}{"events":>12}{"core s":>9}{"M events/s":>12}{"simulated s":>13}{"MB":>7}')
    for route, topology, options in CASES:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [program, 'simulate', 'exchange', '--topology', topology.format(ranks=ranks), '--ranks', ranks, '--route',
                   route, '--bytes', '100M', '--json', *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        row = json.loads(done.stdout)
        print(f'{route:<14}{topology.split(":")[0]:<10}{row["messages"]:>12}{row["events"]:>12}{seconds:>9.2f}{row["events"] / seconds / 1e6:>12.1f}'
              f'{row["time_seconds"]:>13.6f}{after.ru_maxrss / 1024:>7.0f}')


if __name__ == '__main__':
    main(*sys.argv[1:])
