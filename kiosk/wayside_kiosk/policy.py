"""What the webview may do. Pure: addresses, permissions, keys and buttons in, a yes or no out.

The page has one origin. Nothing else is navigated to, opened, downloaded or asked for; the microphone is the page's own
origin's alone. Keys are allowed for typing and moving about, never with a modifier that means a command.
"""

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
# Keys that type or move. Anything not here and not a printable character is refused.
MOVING_KEYS = frozenset(
    {
        *("Backspace", "Backtab", "Delete", "Down", "End", "Enter", "Escape", "Home", "Left", "PageDown", "PageUp"),
        *("Return", "Right", "Shift", "Space", "Tab", "Up", "CapsLock", "AltGr"),
    }
)
# The keyboard's way to the staff controls; it opens a PIN entry, nothing more.
STAFF_CHORD = ("S", frozenset({"Ctrl", "Alt", "Shift"}))


class Permission(StrEnum):
    """What pages ask for, by the engine's names; whatever is not listed is OTHER."""

    MICROPHONE = "MediaAudioCapture"
    CAMERA = "MediaVideoCapture"
    MICROPHONE_AND_CAMERA = "MediaAudioVideoCapture"
    SCREEN = "DesktopVideoCapture"
    SCREEN_AND_SOUND = "DesktopAudioVideoCapture"
    MOUSE_LOCK = "MouseLock"
    NOTIFICATIONS = "Notifications"
    GEOLOCATION = "Geolocation"
    CLIPBOARD = "ClipboardReadWrite"
    FONTS = "LocalFontsAccess"
    OTHER = "Unsupported"


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port, compared exactly."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules for a kiosk whose page lives at `page`."""

    page: Origin

    def may_navigate(self, url: str) -> bool:
        """Only addresses of the page's own origin, in frames as well."""
        return origin_of(url) == self.page

    def may_request(self, url: str) -> bool:
        """Files of the page, what it made itself, and sockets to this machine."""
        if url.startswith(("data:", "blob:")):
            return True
        origin = origin_of(url)
        if origin is None:
            return False
        return origin == self.page or (origin.scheme in {"ws", "wss"} and origin.host in LOOPBACK)

    def may_use(self, permission: Permission, url: str) -> bool:
        """The microphone, for the page."""
        return permission is Permission.MICROPHONE and origin_of(url) == self.page

    def may_open_window(self, _url: str) -> bool:
        """No address is good enough for a second window."""
        return False

    def may_download(self, _url: str) -> bool:
        """Nothing is ever saved."""
        return False

    def may_press(self, key: str, text: str, modifiers: frozenset[str]) -> bool:
        """`key` is the engine's name of the key, `text` what it types, `modifiers` of Ctrl, Alt, Meta, Shift, AltGr."""
        if (key, modifiers) == STAFF_CHORD:
            return True
        if modifiers - {"Shift", "AltGr"}:
            return False
        if key in MOVING_KEYS:
            # Shift+F10 opens a menu, but Shift+Enter is only typing.
            return True
        return bool(text) and text.isprintable()

    def may_click(self, button: str, modifiers: frozenset[str]) -> bool:
        """The left button without a modifier: others open menus, tabs and history."""
        return button == "Left" and not modifiers - {"Shift"}


def origin_of(url: str) -> Origin | None:
    """The origin of an http or ws address; None for everything else (file, data, javascript, …) and for nonsense."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    default = DEFAULT_PORTS.get(parts.scheme)
    if default is None or not parts.hostname or parts.username is not None or parts.password is not None:
        return None
    return Origin(parts.scheme, parts.hostname.lower(), port or default)
