"""systemd's notification protocol, where systemd asked for it (sd_notify(3)). Nothing happens elsewhere."""

import contextlib
import os
import socket


class Notifier:
    """Sends states to the socket in `NOTIFY_SOCKET`; without one it does nothing."""

    def __init__(self, address: str | None) -> None:
        self._address = "\0" + address[1:] if address and address.startswith("@") else address

    @classmethod
    def from_environment(cls) -> "Notifier":
        """Take the address out of the environment: children must not speak for the watchdog."""
        return cls(os.environ.pop("NOTIFY_SOCKET", None))

    def send(self, state: str) -> None:
        """Send `READY=1`, `WATCHDOG=1` or `STOPPING=1`."""
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto(state.encode("ascii"), self._address)
