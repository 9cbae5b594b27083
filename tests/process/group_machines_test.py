#!/usr/bin/env python3
"""Groups across machines, which are network namespaces here: by thalweg run, by the environment alone, in C and C++.

Ends with 77 and a reason where namespaces may not be made.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ['THALWEG_TEST_PROGRAM']
IN_CPP = os.environ.get('THALWEG_TEST_ALL_REDUCE', '')
IN_C = os.environ.get('THALWEG_TEST_C_ALL_REDUCE', '')
PATIENCE_S = 60
SKIPPED = 77
PORT = '29511'
HOSTS = ['10.111.0.1', '10.111.0.2']
INSIDE = 'THALWEG_TEST_IN_NAMESPACE'


def enter_namespaces():
    """Runs this script again as root of namespaces of its own."""
    if not all(shutil.which(tool) for tool in ('unshare', 'nsenter', 'ip')):
        print('skipped: unshare, nsenter or ip is missing')
        sys.exit(SKIPPED)
    make = ['unshare', '--net'] if os.geteuid() == 0 else ['unshare', '--user', '--map-root-user', '--net']
    tried = subprocess.run([*make, 'ip', 'link', 'add', 'cable0', 'type', 'veth', 'peer', 'name', 'cable1'], capture_output=True,
                           text=True, check=False)
    if tried.returncode != 0:
        print('skipped: no network namespaces here: ' + tried.stderr.strip())
        sys.exit(SKIPPED)
    os.execvpe(make[0], [*make, sys.executable, os.path.abspath(__file__)], dict(os.environ, **{INSIDE: '1'}))


def ip(*words, where=()):
    subprocess.run([*where, 'ip', *words], check=True)


class Machines:
    """This namespace, and another one behind a cable."""

    def __init__(self):
        self.other = subprocess.Popen(['unshare', '--net', 'sh', '-c', 'echo; exec sleep 1000'], stdout=subprocess.PIPE)
        self.other.stdout.readline()
        there = ['nsenter', '--target', str(self.other.pid), '--net']
        self.enter = [[], there]
        ip('link', 'add', 'cable0', 'type', 'veth', 'peer', 'name', 'cable1', 'netns', str(self.other.pid))
        for number, where in enumerate(self.enter):
            ip('link', 'set', 'lo', 'up', where=where)
            ip('addr', 'add', HOSTS[number] + '/24', 'dev', 'cable%d' % number, where=where)
            ip('link', 'set', 'cable%d' % number, 'up', where=where)

    def end(self):
        self.other.kill()
        self.other.communicate()

    def start(self, number, words, **variables):
        return subprocess.Popen([*self.enter[number], *words], env=dict(os.environ, **variables), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, commands):
        """Both machines' exit codes, outputs and errors."""
        started = [self.start(number, words, **variables) for number, (words, variables) in enumerate(commands)]
        ended = [process.communicate(timeout=PATIENCE_S) for process in started]
        return [(process.returncode, *texts) for process, texts in zip(started, ended)]


class GroupMachinesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not IN_CPP and not IN_C:
            raise AssertionError('there is no program to run: THALWEG_TEST_ALL_REDUCE, THALWEG_TEST_C_ALL_REDUCE')
        cls.machines = Machines()

    @classmethod
    def tearDownClass(cls):
        cls.machines.end()

    def launch(self, *program, flags=('--insecure-no-auth',), **variables):
        words = [PROGRAM, 'run', '-n', '2', '--nodes', '2', '--master-addr', HOSTS[0], '--master-port', PORT, *flags]
        return self.machines.run([([*words, '--node-rank', str(node), '--', *program], variables)
                                  for node in range(2)])

    def by_hand(self, program, **variables):
        return self.machines.run([([program], dict(variables, RANK=str(rank), WORLD_SIZE='2', MASTER_ADDR=HOSTS[0],
                                                   MASTER_PORT=PORT)) for rank in range(2)])

    def expect_sums(self, ended, ranks, text):
        for code, output, errors in ended:
            self.assertEqual(code, 0, output + errors)
        lines = sorted(line for _, output, _ in ended for line in output.splitlines())
        self.assertEqual(lines, ['rank %d of %d: %s' % (rank, ranks, text) for rank in range(ranks)])

    def test_the_launcher_forms_groups_of_both_machines(self):
        for program, text in [(IN_CPP, 'sum 10'), (IN_C, 'fine')]:
            if not program:
                continue
            ended = self.launch(program)
            self.expect_sums(ended, 4, text)
            for _, _, errors in ended:
                self.assertEqual(errors.count('--insecure-no-auth: whoever reaches'), 1, errors)
            self.assertIn('rank 0 listens on %s:%s' % (HOSTS[0], PORT), ended[0][2])

    def test_a_secret_that_the_machines_share_is_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'secret')
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), 'w', encoding='ascii') as file:
                file.write(os.urandom(16).hex())
            for program, text in [(IN_CPP, 'sum 10'), (IN_C, 'fine')]:
                if not program:
                    continue
                ended = self.launch(program, flags=('--insecure-no-auth', '--secret-file', path))
                self.expect_sums(ended, 4, text)
                self.assertIn('--insecure-no-auth: whoever is on the way', ended[1][2])

    def test_the_environment_accepts_the_risk_too(self):
        for program, text in [(IN_CPP, 'sum 3'), (IN_C, 'fine')]:
            if not program:
                continue
            ended = self.by_hand(program, THALWEG_INSECURE_NO_AUTH='1')
            self.expect_sums(ended, 2, text)
            self.assertEqual(ended[0][2].count('insecure_no_auth: rank 0 listens on'), 1, ended[0][2])
            self.assertEqual(ended[1][2], '')
        if IN_CPP:
            self.expect_sums(self.launch(IN_CPP, flags=(), THALWEG_INSECURE_NO_AUTH='1'), 4, 'sum 10')

    def test_nobody_listens_there_unasked(self):
        for program in filter(None, [IN_CPP, IN_C]):
            started = self.machines.start(0, [program], RANK='0', WORLD_SIZE='2', MASTER_ADDR=HOSTS[0], MASTER_PORT=PORT)
            output, errors = started.communicate(timeout=PATIENCE_S)
            self.assertNotEqual(started.returncode, 0, output)
            self.assertIn('--insecure-no-auth, for ranks also THALWEG_INSECURE_NO_AUTH=1', errors)


if __name__ == '__main__':
    if not os.environ.get(INSIDE):
        enter_namespaces()
    unittest.main(verbosity=2)
