"""Network namespaces of our own, a cable from each to a bridge, for servers that are to be cut off; and small disks."""
import os
import shutil
import subprocess
import sys

INSIDE = "THALWEG_TEST_IN_NAMESPACE"
NETWORK = "10.113.0."
HERE = NETWORK + "1"


def run(*words, where=()):
    subprocess.run([*where, *words], check=True, capture_output=True, text=True)


def enter():
    """Runs this program again as root of namespaces of its own. Returns why not, where they may not be made."""
    if INSIDE in os.environ:
        run("ip", "link", "set", "lo", "up")
        return ""
    missing = [tool for tool in ("unshare", "nsenter", "ip", "mount") if not shutil.which(tool)]
    if missing:
        return "there is no " + ", ".join(missing)
    make = ["unshare", "--net", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    tried = subprocess.run([*make, "sh", "-c", "ip link add bridge0 type bridge && ip link add cable0 type veth peer name cable1 "
                            "&& mount -t tmpfs -o size=1m none /mnt"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        return "no namespaces here: " + tried.stderr.strip()
    os.execvpe(make[0], [*make, sys.executable, *sys.argv], dict(os.environ, **{INSIDE: "1"}))


def small_disk(folder, size):
    os.makedirs(folder, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "size=" + size, "none", folder)


def end_small_disk(folder):
    run("umount", folder)


class Bridge:
    """What all cables end at, this namespace among them."""

    def __init__(self):
        run("ip", "link", "add", "bridge0", "type", "bridge")
        run("ip", "addr", "add", HERE + "/24", "dev", "bridge0")
        run("ip", "link", "set", "bridge0", "up")
        self.machines = 0

    def end(self):
        run("ip", "link", "del", "bridge0")

    def machine(self):
        self.machines += 1
        return Machine(self.machines)


class Machine:
    """A namespace that is at the bridge."""

    def __init__(self, number):
        self.cable = "cable%d" % number
        self.host = NETWORK + str(1 + number)
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 7200"], stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.enter = ["nsenter", "--target", str(self.holder.pid), "--net"]
        run("ip", "link", "add", self.cable, "type", "veth", "peer", "name", "cable", "netns", str(self.holder.pid))
        run("ip", "link", "set", self.cable, "master", "bridge0")
        run("ip", "link", "set", self.cable, "up")
        run("ip", "link", "set", "lo", "up", where=self.enter)
        run("ip", "addr", "add", self.host + "/24", "dev", "cable", where=self.enter)
        run("ip", "link", "set", "cable", "up", where=self.enter)

    def cut_off(self):
        run("ip", "link", "set", self.cable, "down")

    def cut_off_from(self, host):
        """What is sent there is thrown away; what comes from there still comes."""
        run("ip", "route", "add", "blackhole", host + "/32", where=self.enter)

    def join(self):
        run("ip", "link", "set", self.cable, "up")
        run("ip", "route", "flush", "type", "blackhole", where=self.enter)

    def end(self):
        self.holder.kill()
        self.holder.communicate()
