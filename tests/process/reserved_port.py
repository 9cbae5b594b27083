"""A free port for a listener that a test starts later."""
import socket


def reserved_port():
    """The socket that keeps the port, and its number. Who listens there with SO_REUSEADDR, as all nodes do, may."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept, kept.getsockname()[1]
