"""What happens in the window, once pywebview made it.

The policy's page takes the place of pywebview's, keys and buttons are filtered, and the intended address is opened
until it is there.
"""

from typing import Any

from qtpy import QtCore, QtGui, QtWidgets

from wayside_kiosk import opening
from wayside_kiosk import page as pages
from wayside_kiosk.opening import Opening
from wayside_kiosk.policy import Policy
from wayside_kiosk.shell import ASKED_TO_LEAVE, CANNOT_OPEN, RENDERER_GONE, Options, end_for_sure

ABORTED = -3  # Chromium's net::ERR_ABORTED
_MODIFIERS = (
    (QtCore.Qt.KeyboardModifier.ControlModifier, "Ctrl"),
    (QtCore.Qt.KeyboardModifier.AltModifier, "Alt"),
    (QtCore.Qt.KeyboardModifier.MetaModifier, "Meta"),
    (QtCore.Qt.KeyboardModifier.ShiftModifier, "Shift"),
    (QtCore.Qt.KeyboardModifier.GroupSwitchModifier, "AltGr"),
)
_KEY_EVENTS = (QtCore.QEvent.Type.KeyPress, QtCore.QEvent.Type.KeyRelease, QtCore.QEvent.Type.ShortcutOverride)
_BUTTON_EVENTS = (
    QtCore.QEvent.Type.MouseButtonPress,
    QtCore.QEvent.Type.MouseButtonRelease,
    QtCore.QEvent.Type.MouseButtonDblClick,
)
_REFUSED_EVENTS = (
    QtCore.QEvent.Type.ContextMenu,
    QtCore.QEvent.Type.DragEnter,
    QtCore.QEvent.Type.DragMove,
    QtCore.QEvent.Type.Drop,
    QtCore.QEvent.Type.NativeGesture,
)


class Filter(QtCore.QObject):  # type: ignore[misc]  # Qt has no types here
    """Sees the window's events first; drops what the policy refuses.

    It sits on each widget, not on the application: an application's filter is handed objects of the engine that are
    just being destroyed, and the process crashes.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._policy = policy

    def watch(self, widget: QtWidgets.QWidget) -> None:
        """Filter `widget` and everything in it, now and later: the engine makes its own widget when it likes."""
        for each in (widget, *widget.findChildren(QtWidgets.QWidget)):
            each.removeEventFilter(self)
            each.installEventFilter(self)

    def eventFilter(self, watched: QtCore.QObject, event: QtCore.QEvent) -> bool:  # noqa: N802
        """Toolkit's callback: true drops the event."""
        kind = event.type()
        if kind == QtCore.QEvent.Type.ChildPolished and isinstance(watched, QtWidgets.QWidget):
            self.watch(watched)
            return False
        if kind in _REFUSED_EVENTS:
            return True
        if kind in _KEY_EVENTS and isinstance(event, QtGui.QKeyEvent):
            name = QtCore.Qt.Key(event.key()).name.removeprefix("Key_")
            return not self._policy.may_press(name, event.text(), _modifiers(event))
        if kind in _BUTTON_EVENTS and isinstance(event, QtGui.QMouseEvent):
            return not self._policy.may_click(event.button().name.removesuffix("Button"), _modifiers(event))
        if kind == QtCore.QEvent.Type.Wheel and isinstance(event, QtGui.QWheelEvent):
            return bool(_modifiers(event))
        return False


class Kiosk:
    """One window's life. `code` is the exit code it ended with."""

    def __init__(self, window: Any, options: Options) -> None:
        self.code = ASKED_TO_LEAVE
        self._window = window
        self._options = options
        self._policy = Policy(options.origin)
        self._filter = Filter(self._policy)
        self._opening = Opening()
        self._ending = False

    def take_over(self) -> None:
        """Put our page into pywebview's window, just before it is shown."""
        view = self._window.native.webview
        # pywebview would put its bridge to Python, and an alert() that never returns, into our page.
        view.page().loadFinished.disconnect(self._window.native.on_load_finished)
        self._page = pages.KioskPage(
            pages.profile(self._policy, self._options.token, self._window.native),
            view,
            self._policy,
            renderer_gone=lambda: self.end(RENDERER_GONE),
        )
        pages.settle(self._page)
        self._page.setBackgroundColor(QtGui.QColor(pages.BACKGROUND))
        self._page.loadingChanged.connect(self._on_loading)
        view.setPage(self._page)
        view.setContextMenuPolicy(QtCore.Qt.ContextMenuPolicy.NoContextMenu)
        view.setAcceptDrops(False)
        self._window.native.setAcceptDrops(False)
        app = QtWidgets.QApplication.instance()
        self._filter.watch(self._window.native)
        if self._options.hide_cursor:
            app.setOverrideCursor(QtCore.Qt.CursorShape.BlankCursor)
        if not self._options.windowed:
            screen = app.primaryScreen()
            screen.geometryChanged.connect(self._window.native.setGeometry)
        self._open()

    def may_close(self) -> bool:
        """Whether the window may be closed: by us, or where it has a frame."""
        return self._ending or self._options.windowed

    def end(self, code: int) -> None:
        """Close the window; the first reason counts."""
        if self._ending:
            return
        self._ending = True
        self.code = code
        end_for_sure(code)
        QtWidgets.QApplication.exit(code)

    def _open(self) -> None:
        self._page.load(QtCore.QUrl(self._options.url))

    def _on_loading(self, info: Any) -> None:
        statuses = type(info).LoadStatus
        if info.status() == statuses.LoadSucceededStatus:
            self._opening, _ = opening.finished(self._opening, ok=True)
        elif info.status() == statuses.LoadFailedStatus and self._is_loss(info):
            self._opening, wait_s = opening.finished(self._opening, ok=False)
            if wait_s is not None:
                QtCore.QTimer.singleShot(int(wait_s * 1000), self._open)
            elif opening.gave_up(self._opening):
                self.end(CANNOT_OPEN)

    def _is_loss(self, info: Any) -> bool:
        # A navigation that we refused, and one that became a download, fail too, and leave the page where it was.
        return self._policy.may_navigate(info.url().toString()) and info.errorCode() != ABORTED


def _modifiers(event: Any) -> frozenset[str]:
    held = event.modifiers()
    return frozenset(name for flag, name in _MODIFIERS if held & flag)
