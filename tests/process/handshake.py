"""The handshake of src/net/socket/handshake.cc, by Python's own HMAC: for tests that are peers, and for those that only try."""
import hmac
import os
import socket as sockets
import struct

GREETING = struct.Struct("<IHH16s")
MAGIC, VERSION, FRAMES, GROUP = 0x474c4854, 1, 1, 2
NONCE_BYTES, PROOF_BYTES = 16, 32


class Refused(ConnectionError):
    """The other end has hung up instead of going on; `told` is what it had said."""

    def __init__(self, told):
        super().__init__("hung up in the handshake")
        self.told = told


def call(port, timeout, locally=False):
    """A connection to a node, by TCP or by the name that its machine's processes call it by."""
    if not locally:
        return sockets.create_connection(("127.0.0.1", port), timeout=timeout)
    peer = sockets.socket(sockets.AF_UNIX)
    peer.settimeout(timeout)
    peer.connect("\0thalweg-127.0.0.1-%d" % port)
    return peer


def read(socket, size):
    out = b""
    while len(out) < size:
        try:
            part = socket.recv(size - len(out))
        except ConnectionResetError:
            part = b""
        if not part:
            raise Refused(out)
        out += part
    return out


def read_secret(path):
    with open(path, encoding="ascii") as text:
        return bytes.fromhex(text.read())


def dial(socket, secret, hello, use=FRAMES):
    """Proves that it knows the secret, says hello, and returns what the other end says of itself."""
    said = GREETING.pack(MAGIC, VERSION, use, os.urandom(NONCE_BYTES))
    socket.sendall(said)
    said += read(socket, NONCE_BYTES)
    prove = lambda label, text: hmac.new(secret, label + b"\0" + text, "sha256").digest()
    socket.sendall(prove(b"dialler knows", said))
    if not hmac.compare_digest(read(socket, PROOF_BYTES), prove(b"acceptor knows", said)):
        raise AssertionError("the other end proves nothing")
    said += struct.pack("<H", len(hello)) + hello
    socket.sendall(struct.pack("<H", len(hello)) + hello + prove(b"dialler says", said))
    size = read(socket, 2)
    answer = read(socket, struct.unpack("<H", size)[0])
    said += size + answer
    if not hmac.compare_digest(read(socket, PROOF_BYTES), prove(b"acceptor says", said)):
        raise AssertionError("its hello is not its own")
    return answer
