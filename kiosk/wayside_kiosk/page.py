"""The engine's page under our policy: every door the engine offers is answered here, and the answer is no.

pywebview's own page grants microphone and camera to every origin, opens links outside and notices no dead renderer;
this one takes its place.
"""

import json
from collections.abc import Callable

from qtpy import QtCore, QtWebEngineCore

from wayside_kiosk.policy import Origin, Permission, Policy

BACKGROUND = "#14110f"


class Requests(QtWebEngineCore.QWebEngineUrlRequestInterceptor):  # type: ignore[misc]  # Qt has no types here
    """Blocks what the policy does not allow before it leaves the engine."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._policy = policy

    def interceptRequest(self, info: QtWebEngineCore.QWebEngineUrlRequestInfo) -> None:  # noqa: N802
        """Engine's callback."""
        if not self._policy.may_request(info.requestUrl().toString()):
            info.block(True)


class KioskPage(QtWebEngineCore.QWebEnginePage):  # type: ignore[misc]  # Qt has no types here
    """One page of one origin. `renderer_gone` is called when the renderer ends, for whatever reason."""

    def __init__(
        self,
        profile: QtWebEngineCore.QWebEngineProfile,
        parent: QtCore.QObject,
        policy: Policy,
        renderer_gone: Callable[[], None],
    ) -> None:
        super().__init__(profile, parent)
        self._policy = policy
        self._renderer_gone = renderer_gone
        self.renderProcessTerminated.connect(self._on_renderer_gone)
        self.permissionRequested.connect(self._on_permission)
        self.certificateError.connect(lambda error: error.rejectCertificate())
        self.fullScreenRequested.connect(lambda request: request.reject())
        self.registerProtocolHandlerRequested.connect(lambda request: request.reject())
        self.selectClientCertificate.connect(lambda selection: selection.selectNone())

    def acceptNavigationRequest(self, url: QtCore.QUrl, kind: object, main_frame: bool) -> bool:  # noqa: ARG002, N802
        """Engine's callback; redirects pass here too."""
        return self._policy.may_navigate(url.toString())

    def createWindow(self, kind: object) -> None:  # noqa: ARG002, N802
        """Engine's callback: no window is made."""
        return

    def javaScriptAlert(self, origin: QtCore.QUrl, message: str) -> None:  # noqa: N802
        """Engine's callback: no dialogue is shown."""

    def javaScriptConfirm(self, origin: QtCore.QUrl, message: str) -> bool:  # noqa: ARG002, N802
        """Engine's callback: no dialogue is shown."""
        return False

    def javaScriptPrompt(self, origin: QtCore.QUrl, message: str, default: str) -> tuple[bool, str]:  # noqa: ARG002, N802
        """Engine's callback: no dialogue is shown."""
        return False, ""

    def javaScriptConsoleMessage(self, level: object, message: str, line: int, source: str) -> None:  # noqa: N802
        """Engine's callback: what a page writes may be a visitor's words, so it goes nowhere."""

    def chooseFiles(self, mode: object, old: object, mime_types: object) -> list[str]:  # noqa: ARG002, N802
        """Engine's callback: no file is chosen."""
        return []

    def _on_permission(self, permission: QtWebEngineCore.QWebEnginePermission) -> None:
        try:
            kind = Permission(permission.permissionType().name)
        except ValueError:
            kind = Permission.OTHER
        if self._policy.may_use(kind, permission.origin().toString()):
            permission.grant()
        else:
            permission.deny()

    def _on_renderer_gone(self, _status: object, _code: int) -> None:
        self._renderer_gone()


def profile(policy: Policy, token: str, parent: QtCore.QObject) -> QtWebEngineCore.QWebEngineProfile:
    """An off-the-record profile: nothing on disk, no downloads, the token at document creation."""
    made = QtWebEngineCore.QWebEngineProfile(parent)
    made.setHttpCacheType(QtWebEngineCore.QWebEngineProfile.HttpCacheType.MemoryHttpCache)
    made.setPersistentPermissionsPolicy(
        QtWebEngineCore.QWebEngineProfile.PersistentPermissionsPolicy.AskEveryTime,
    )
    made.setSpellCheckEnabled(False)
    made.downloadRequested.connect(lambda download: download.cancel())
    requests = Requests(policy)
    requests.setParent(made)
    made.setUrlRequestInterceptor(requests)
    made.scripts().insert(_token_script(policy.page, token))
    return made


def settle(page: KioskPage) -> None:
    """Switch off what a kiosk does not need."""
    names = QtWebEngineCore.QWebEngineSettings.WebAttribute
    settings = page.settings()
    for name, value in (
        (names.ErrorPageEnabled, False),
        (names.FullScreenSupportEnabled, False),
        (names.JavascriptCanAccessClipboard, False),
        (names.JavascriptCanOpenWindows, False),
        (names.LocalContentCanAccessFileUrls, False),
        (names.LocalContentCanAccessRemoteUrls, False),
        (names.NavigateOnDropEnabled, False),
        (names.PdfViewerEnabled, False),
        (names.PlaybackRequiresUserGesture, False),
        (names.PluginsEnabled, False),
        (names.ScreenCaptureEnabled, False),
        (names.ShowScrollBars, False),
    ):
        settings.setAttribute(name, value)


def _token_script(origin: Origin, token: str) -> QtWebEngineCore.QWebEngineScript:
    script = QtWebEngineCore.QWebEngineScript()
    script.setName("wayside")
    script.setInjectionPoint(QtWebEngineCore.QWebEngineScript.InjectionPoint.DocumentCreation)
    script.setWorldId(QtWebEngineCore.QWebEngineScript.ScriptWorldId.MainWorld)
    script.setRunsOnSubFrames(False)
    address = f"{origin.scheme}://{origin.host}:{origin.port}"
    value = f"Object.freeze({{token: {json.dumps(token)}}})"
    define = f'Object.defineProperty(window, "__WAYSIDE__", {{value: {value}}})'
    script.setSourceCode(f"if (new URL({json.dumps(address)}).origin === location.origin) {define};")
    return script
