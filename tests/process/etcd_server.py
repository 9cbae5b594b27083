"""An etcd of a test's own, which it may kill and start again."""
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from reserved_port import reserved_port


class Etcd:
    def __init__(self, test):
        (kept, port), (peers_kept, peers) = reserved_port(), reserved_port()
        folder = tempfile.TemporaryDirectory()
        for cleanup in (kept.close, peers_kept.close, folder.cleanup, self.kill):
            test.addCleanup(cleanup)
        self.folder = folder.name
        self.address = "127.0.0.1:%d" % port
        self.peers = "http://127.0.0.1:%d" % peers
        self.process = None
        self.start()

    def start(self):
        clients = "http://" + self.address
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["etcd", "--data-dir", os.path.join(self.folder, "data"), "--listen-client-urls", clients, "--advertise-client-urls",
                 clients, "--listen-peer-urls", self.peers, "--initial-advertise-peer-urls", self.peers, "--initial-cluster",
                 "default=" + self.peers], stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.ask("maintenance/status", {})
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def ask(self, what, body):
        request = urllib.request.Request("http://%s/v3/%s" % (self.address, what), json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def end_leases(self):
        """All that there are, whoever renews them."""
        for lease in self.ask("lease/leases", {}).get("leases", []):
            try:
                self.ask("lease/revoke", {"ID": lease["ID"]})
            except urllib.error.HTTPError:
                pass  # It has ended by itself meanwhile.

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def copy(self, name):
        """Of all that it has; as who runs it would take a backup."""
        self.kill()
        shutil.copytree(os.path.join(self.folder, "data"), os.path.join(self.folder, name))
        self.start()

    def become(self, name, now=None):
        """What it was when that copy was made; a copy of what it is may get a name as well."""
        self.kill()
        if now:
            shutil.copytree(os.path.join(self.folder, "data"), os.path.join(self.folder, now))
        shutil.rmtree(os.path.join(self.folder, "data"))
        shutil.copytree(os.path.join(self.folder, name), os.path.join(self.folder, "data"))
        self.start()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Way:
    """To an etcd, of one process alone: while it is cut, what is sent stays under way. It breaks at requests for a key."""
    def __init__(self, test, address, breaks=False, at=""):
        self.breaks, self.at = breaks, base64.b64encode(at.encode())
        host, port = address.rsplit(":", 1)
        self.there = (host, int(port))
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.server.getsockname()[1]
        self.open = threading.Event()
        self.open.set()
        test.addCleanup(self.server.close)
        test.addCleanup(self.mend)
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self):
        self.open.clear()

    def mend(self):
        self.open.set()

    def accept(self):
        while True:
            try:
                here, _ = self.server.accept()
                there = socket.create_connection(self.there)
            except OSError:
                return
            for ends in ((here, there), (there, here)):
                threading.Thread(target=self.carry, args=ends, daemon=True).start()

    def carry(self, source, to):
        try:
            while data := source.recv(65536):
                self.open.wait()
                if self.breaks and self.at in data:
                    source.close()
                    to.close()
                    return
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass
