"""A TCP proxy that cuts a connection after a number of bytes, wherever in a conversation that is."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK_BYTES = 65536


class CuttingProxy:
    """Passes bytes on to a loopback port; `cut_after` bytes of both directions together it closes the connection.

    `passed` counts the bytes of the last connection. One connection at a time.
    """

    def __init__(self, target_port: int, cut_after: int | None = None) -> None:
        self.target_port = target_port
        self.cut_after = cut_after
        self.passed = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def serve(self) -> None:
        """Until the listener is closed."""
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                with near, suppress(OSError), socket.create_connection(("127.0.0.1", self.target_port)) as far:
                    self._pass_on(near, far)

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        self.passed = 0
        with selectors.DefaultSelector() as selector:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in selector.select():
                    left = CHUNK_BYTES if self.cut_after is None else self.cut_after - self.passed
                    data = key.fileobj.recv(min(CHUNK_BYTES, left)) if left > 0 else b""  # type: ignore[union-attr]
                    if not data:
                        return
                    self.passed += len(data)
                    key.data.sendall(data)

    def close(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def cutting_proxy(target_port: int) -> Iterator[CuttingProxy]:
    """A proxy to a loopback port, in a thread; it cuts nothing until it is told."""
    proxy = CuttingProxy(target_port)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join(10)
