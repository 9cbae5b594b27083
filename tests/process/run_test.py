#!/usr/bin/env python3
"""thalweg run: ranks find each other, and all of them end when one fails, whatever way it fails."""
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from handshake import GROUP, Refused, dial, read_secret
from programs import PROGRAM, SANITIZER, ProgramTest, alive, patience
from reserved_port import reserved_port

ALL_REDUCE = os.environ.get('THALWEG_TEST_ALL_REDUCE', '')
PATIENCE_S = patience(60)


def run(*words, **more):
    return subprocess.run([PROGRAM, 'run', *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          **more)


def first_child(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as children:
        return int(children.read().split()[0])


def wait_for(condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise AssertionError('nothing happened within %d s' % PATIENCE_S)
        time.sleep(0.01)


def listens(port):
    """Without a call."""
    with open('/proc/net/tcp', encoding='ascii') as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return any(row[1] == '0100007F:%04X' % port and row[3] == '0A' for row in rows)


class RunTest(ProgramTest):
    def test_each_rank_learns_its_place(self):
        show = 'echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR'
        done = run('-n', '3', '--label', '--', 'sh', '-c', show)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ['[%d] %d 3 %d 3 0 127.0.0.1' % (r, r, r) for r in range(3)])

    def test_each_machine_has_its_share_of_ranks(self):
        done = run('-n', '2', '--nodes', '3', '--node-rank', '1', '--master-addr', 'head', '--label', '--', 'sh', '-c',
                   'echo $RANK $WORLD_SIZE $LOCAL_RANK $GROUP_RANK $MASTER_ADDR:$MASTER_PORT')
        self.assertEqual(sorted(done.stdout.splitlines()), ['[2] 2 6 0 1 head:29500', '[3] 3 6 1 1 head:29500'])
        self.assertEqual(run('--nodes', '2', 'true').returncode, 2)
        self.assertEqual(run('--nodes', '2', '--node-rank', '2', '--master-addr', 'x', 'true').returncode, 2)

    def test_the_first_failure_ends_all_and_is_the_result(self):
        done = run('-n', '4', '--', 'sh', '-c', 'test $RANK != 2 || exit 7; sleep 1000')
        self.assertEqual(done.returncode, 7)
        self.assertRegex(done.stderr, r'rank 2 \(process \d+\) ended with exit code 7')
        done = run('-n', '2', '--json', '--', 'sh', '-c', 'test $RANK != 1 || kill -SEGV $$; sleep 1000')
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])['exit_code'], 128 + signal.SIGSEGV)

    def test_the_rank_that_was_killed_is_named_not_one_that_gave_up_for_it(self):
        gives_up = '''test $RANK != 2 || { echo $$ > pid; kill -KILL $$; }
                      until test -s pid; do :; done; read victim < pid
                      while read stat < /proc/$victim/stat && test "${stat#*) Z}" = "$stat"; do :; done 2> /dev/null
                      exit 1'''
        for _ in range(10):
            with tempfile.TemporaryDirectory() as folder:
                done = run('-n', '3', '--', 'sh', '-c', gives_up, cwd=folder)
            self.assertEqual(done.returncode, 128 + signal.SIGKILL, done.stderr)
            self.assertRegex(done.stderr, r'rank 2 \(process \d+\) was ended by signal 9')

    AWAIT_RANK_1 = '''test $RANK != 1 || { echo $$ > pid; exit %d; }
                      until test -s pid; do :; done; read first < pid
                      while read stat < /proc/$first/stat && test "${stat#*) Z}" = "$stat"; do :; done 2> /dev/null
                      %s'''

    def run_after_rank_1(self, code, then):
        with tempfile.TemporaryDirectory() as folder:
            return run('-n', '2', '--', 'sh', '-c', self.AWAIT_RANK_1 % (code, then), cwd=folder)

    def test_the_rank_that_failed_first_is_named_not_the_lowest(self):
        for then in ('exit 3', 'kill -ABRT $$', 'kill -PIPE $$') * 5:
            done = self.run_after_rank_1(7, then)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertRegex(done.stderr, r'rank 1 \(process \d+\) ended with exit code 7;')

    def test_a_rank_that_left_early_is_named_beside_the_one_that_failed_for_it(self):
        done = self.run_after_rank_1(0, 'exit 3')
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r'rank 0 \(process \d+\) ended with exit code 3, after rank 1 \(process \d+\) '
                                      r'ended with exit code 0;')

    def test_a_rank_that_has_ended_leaves_its_process_number_to_nobody(self):
        looks = '''test $RANK != 0 || { echo $$ > pid; exit 0; }
                   until test -s pid; do :; done; read first < pid
                   while read stat < /proc/$first/stat && test "${stat#*) Z}" = "$stat"; do :; done 2> /dev/null
                   sleep 0.3; test -e /proc/$first'''
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run('-n', '2', '--', 'sh', '-c', looks, cwd=folder).returncode, 0)

    def test_a_rank_that_will_not_end_is_killed_with_what_it_started(self):
        stubborn = 'trap "" TERM; sleep 1000 & echo $!; test $RANK != 1 || { sleep 0.3; exit 3; }; while :; do wait; done'
        done = run('-n', '2', '--grace', '200ms', '--', 'sh', '-c', stubborn)
        self.assertEqual(done.returncode, 3)
        for pid in done.stdout.split():
            wait_for(lambda pid=int(pid): not alive(pid))

    def test_a_program_that_is_not_there_is_named(self):
        done = run('-n', '2', '--', '/no/such/program')
        self.assertEqual(done.returncode, 127)
        self.assertIn('cannot start /no/such/program', done.stderr)

    def test_interrupts_and_kills_leave_nobody_behind(self):
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)):
            with subprocess.Popen([PROGRAM, 'run', '-n', '2', '--', 'sh', '-c', 'echo $$; exec sleep 1000'],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
                pids = [int(parent.stdout.readline()) for _ in range(2)]
                parent.send_signal(sent)
                self.assertEqual(parent.wait(PATIENCE_S), code)
            for pid in pids:
                wait_for(lambda pid=pid: not alive(pid))

    # In their process group, in one of their own, in a session of their own, and further down.
    def test_no_kill_leaves_what_ranks_started(self):
        start = '''sleep 1000 & echo $!; (set -m; sleep 1000 & echo $!); setsid sh -c 'sleep 1000 & echo $$ $!; wait' &
                   wait; true'''
        for depth in range(3):  # What was started, the process that guards, and the one that watches the ranks.
            parent = subprocess.Popen([PROGRAM, 'run', '-n', '2', '--', 'sh', '-c', start], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
            self.addCleanup(lambda parent=parent: (parent.kill(), parent.communicate()))
            left = []
            while len(left) < 8 and (line := parent.stdout.readline()):
                left += map(int, line.split())
            self.assertEqual(len(left), 8)
            victim = parent.pid
            for _ in range(depth):
                victim = first_child(victim)
            os.kill(victim, signal.SIGKILL)
            self.assertEqual(parent.wait(PATIENCE_S), -signal.SIGKILL if depth == 0 else 1)
            for pid in left:
                wait_for(lambda pid=pid: not alive(pid))
            self.assertEqual('the process that watches the others was ended' in parent.stderr.read(), depth > 0)

    @unittest.skipIf('undefined' in SANITIZER, 'UndefinedBehaviorSanitizer needs descriptors of its own')
    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_a_rank_with_too_few_descriptors_says_so(self):
        for transport in ('tcp', 'shm'):
            for limit in range(4, 24):
                done = run('-n', '3', '--transport', transport, '--', 'sh', '-c',
                           'test $RANK != 1 || ulimit -n %d; exec %s' % (limit, ALL_REDUCE))
                if done.returncode != 0:
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertRegex(done.stderr, 'Too many open files|this process has no descriptors left')
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_ranks_add_up(self):
        done = run('-n', '3', '--', ALL_REDUCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ['rank %d of 3: sum 6' % r for r in range(3)])

    def test_ranks_inherit_a_secret_that_shows_nowhere(self):
        show = 'echo "$THALWEG_SECRET_FILE" $(cat "$THALWEG_SECRET_FILE"); env >&2; cat /proc/$$/cmdline >&2'
        secrets = []
        for _ in range(2):
            done = run('-n', '3', '--insecure-no-auth', '--', 'sh', '-c', show)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual((len(lines), len(set(lines))), (3, 1), lines)
            self.assertRegex(lines[0], r'^/dev/fd/[0-9]{2,} [0-9a-f]{32}$')
            secrets.append(lines[0].split()[1])
            self.assertNotIn(secrets[-1], done.stderr)
        self.assertNotEqual(*secrets)

    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_who_has_not_inherited_the_secret_cannot_join(self):
        ranks = '''test $RANK = 0 && { echo $$ $THALWEG_MASTER_PORT ${THALWEG_SECRET_FILE#/dev/fd/}; exec %s; }
                   until test -e "$0"; do sleep 0.05; done; exec %s'''
        with tempfile.TemporaryDirectory() as folder:
            come = os.path.join(folder, 'come')
            with subprocess.Popen([PROGRAM, 'run', '-n', '2', '--', 'sh', '-c', ranks % (ALL_REDUCE, ALL_REDUCE), come],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
                leader, port, where = map(int, job.stdout.readline().split())
                secret = read_secret('/proc/%d/fd/%d' % (leader, where))
                wait_for(lambda: listens(port))
                for guess in (bytes(16), os.urandom(16), secret[::-1]):
                    with socket.create_connection(('127.0.0.1', port), timeout=PATIENCE_S) as stranger:
                        with self.assertRaises(Refused) as refused:
                            dial(stranger, guess, b'', GROUP)
                        self.assertEqual(refused.exception.told, b'')  # After its challenge.
                with socket.create_connection(('127.0.0.1', port), timeout=PATIENCE_S) as friend:
                    self.assertEqual(dial(friend, secret, b'', GROUP), b'')
                with open(come, 'w', encoding='ascii'):
                    pass
                out, err = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(out.splitlines()), ['rank %d of 2: sum 3' % r for r in range(2)])

    # Before rank 0 has begun, and between two programs that it starts one after the other.
    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_nobody_takes_the_place_where_ranks_meet(self):
        ranks = ('test $RANK != 0 || { echo $THALWEG_MASTER_PORT $MASTER_PORT; '
                 'until test -e "$0"; do sleep 0.05; done; }; %s && exec %s' % (ALL_REDUCE, ALL_REDUCE))
        with tempfile.TemporaryDirectory() as folder:
            go_on = os.path.join(folder, 'go')
            with subprocess.Popen([PROGRAM, 'run', '-n', '2', '--', 'sh', '-c', ranks, go_on],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
                own, others = map(int, job.stdout.readline().split())
                for host in ('127.0.0.1', '0.0.0.0'):
                    with socket.socket() as stranger:
                        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        with self.assertRaises(OSError) as refused:
                            stranger.bind((host, own))
                            stranger.listen()
                        self.assertEqual(refused.exception.errno, errno.EADDRINUSE)
                with socket.socket() as library:  # As PyTorch's store binds it.
                    library.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    library.bind(('0.0.0.0', others))
                    library.listen()
                    with open(go_on, 'w', encoding='ascii'):
                        pass
                    out, err = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(out.splitlines()), sorted(['rank %d of 2: sum 3' % r for r in range(2)] * 2))

    def test_only_rank_0_inherits_where_the_ranks_meet(self):
        show = 'ls -l /proc/self/fd | grep -c socket: ; echo "$THALWEG_LISTENER"; true'
        done = run('-n', '2', '--label', '--', 'sh', '-c', show, env=dict(os.environ, THALWEG_LISTENER='7'))
        told = sorted(done.stdout.splitlines())
        self.assertRegex(told[1], r'^\[0\] [0-9]{2,}$')
        self.assertEqual((told[0], told[2:]), ('[0] 1', ['[1] ', '[1] 0']), done.stderr)

    def test_a_rank_may_be_this_program(self):
        done = run('-n', '2', '--', PROGRAM, 'run', '-n', '1', '--', 'true')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_where_the_user_says_ranks_meet_nothing_is_held(self):
        show = 'echo "$THALWEG_MASTER_PORT$THALWEG_LISTENER"'
        for words in (('--master-port', '29517'), ('--master-addr', 'localhost')):
            self.assertEqual(run('-n', '1', *words, '--', 'sh', '-c', show).stdout, '\n')

    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_a_program_between_may_close_what_it_does_not_know_where_the_secret_is_a_file(self):
        python = 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))'
        with tempfile.TemporaryDirectory() as folder:
            done = run('-n', '2', '--secret-file', os.path.join(folder, 'a.secret'), '--', 'python3', '-c', python,
                       ALL_REDUCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run('-n', '2', '--', 'python3', '-c', python, ALL_REDUCE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('/dev/fd/', done.stderr)

    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_machines_share_a_secret_by_its_file(self):
        kept, port = reserved_port()
        self.addCleanup(kept.close)
        with tempfile.TemporaryDirectory() as folder:
            words = ['run', '-n', '2', '--nodes', '2', '--master-addr', '127.0.0.1', '--master-port', str(port),
                     '--secret-file', 'made.secret']
            path = os.path.join(folder, 'made.secret')
            first = subprocess.Popen([PROGRAM, *words, '--', 'sh', '-c', 'echo $THALWEG_SECRET_FILE >&2; exec ' + ALL_REDUCE],
                                     cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.end_with_test(first)
            wait_for(lambda: os.path.exists(path))
            self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)
            second = run(*words[1:], '--node-rank', '1', '--', ALL_REDUCE, cwd=folder)
            out, err = first.communicate(timeout=PATIENCE_S)
        self.assertEqual((first.returncode, second.returncode), (0, 0), err + second.stderr)
        self.assertEqual(err, (path + '\n') * 2)
        self.assertEqual(sorted((out + second.stdout).splitlines()), ['rank %d of 4: sum 10' % r for r in range(4)])

    def test_a_file_that_holds_no_secret_is_one_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'short.secret')
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), 'w', encoding='ascii') as file:
                file.write('0123')
            done = run('-n', '3', '--secret-file', path, '--', 'true')
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn('32 hexadecimal digits and nothing else; found 4 digits', done.stderr)

    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_open_mpi_starts_the_same_program(self):
        mpirun = shutil.which('mpirun')
        if not mpirun:
            self.skipTest('mpirun is not installed: scripts/setup installs Open MPI')
        kept, port = reserved_port()
        self.addCleanup(kept.close)
        done = subprocess.run([mpirun, '--allow-run-as-root', '--oversubscribe', '-n', '2', '-x', 'MASTER_PORT=%d' % port,
                               ALL_REDUCE], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ['rank %d of 2: sum 3' % r for r in range(2)])

    @unittest.skipUnless(ALL_REDUCE, 'the examples are not built')
    def test_slurm_starts_the_same_program(self):
        kept, port = reserved_port()
        self.addCleanup(kept.close)

        def rank(procid):
            variables = dict(os.environ, SLURM_PROCID=str(procid), SLURM_NTASKS='2', SLURM_LOCALID=str(procid),
                             SLURM_NODELIST='127.0.0.1', SLURM_JOB_ID='1044', MASTER_PORT=str(port))
            return subprocess.Popen([ALL_REDUCE], env=variables, stdout=subprocess.PIPE, text=True)
        ranks = [rank(procid) for procid in range(2)]
        said = [process.communicate(timeout=PATIENCE_S)[0] for process in ranks]
        self.assertEqual(said, ['rank %d of 2: sum 3\n' % r for r in range(2)])

    def test_an_exchange_is_measured_in_either_memory(self):
        for words, memory in (((), 'ordinary'), (('--memory', 'ordinary'), 'ordinary'), (('--memory', 'group'), 'group')):
            done = subprocess.run([PROGRAM, 'bench', 'exchange', '--bytes', '64K:256K', '--iterations', '2', '--json',
                                   *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual((report['memory'], report['wrong'], len(report['results'])), (memory, 0, 3))


if __name__ == '__main__':
    unittest.main(verbosity=2)
