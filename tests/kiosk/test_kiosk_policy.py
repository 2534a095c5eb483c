import os
import subprocess
import sys

import pytest
from wayside_kiosk import opening
from wayside_kiosk.opening import Opening
from wayside_kiosk.policy import Origin, Permission, Policy, origin_of
from wayside_kiosk.shell import engine_environment

PAGE = "http://127.0.0.1:8780/"
POLICY = Policy(Origin("http", "127.0.0.1", 8780))
NONE = frozenset()


@pytest.mark.parametrize(
    ("url", "navigate", "request_"),
    [
        (PAGE, True, True),
        (PAGE + "#token=x", True, True),
        ("http://127.0.0.1:8780/fallback/media/a.svg", True, True),
        ("ws://127.0.0.1:8765/v1/visit", False, True),
        ("ws://museum.example/v1/visit", False, False),
        ("http://127.0.0.1:8765/", False, False),
        ("https://127.0.0.1:8780/", False, False),
        ("http://localhost:8780/", False, False),
        ("http://127.0.0.1:8780@museum.example/", False, False),
        ("http://user@127.0.0.1:8780/", False, False),
        ("http://127.0.0.1.museum.example:8780/", False, False),
        ("http://127.0.0.1:99999/", False, False),
        ("file:///etc/passwd", False, False),
        ("chrome://settings", False, False),
        ("view-source:http://127.0.0.1:8780/", False, False),
        ("data:text/html,x", False, True),
        ("blob:http://127.0.0.1:8780/1", False, True),
        ("javascript:alert(1)", False, False),
        ("mailto:a@b.example", False, False),
        ("about:blank", False, False),
        ("", False, False),
    ],
)
def test_only_the_pages_own_origin_is_reached(url, navigate, request_):
    assert navigate is POLICY.may_navigate(url)
    assert request_ is POLICY.may_request(url)
    assert not POLICY.may_open_window(url)
    assert not POLICY.may_download(url)


@pytest.mark.parametrize("permission", list(Permission))
def test_the_microphone_is_the_only_permission_and_only_for_the_page(permission):
    assert (permission is Permission.MICROPHONE) is POLICY.may_use(permission, PAGE)
    assert not POLICY.may_use(permission, "http://127.0.0.1:8781/")


@pytest.mark.parametrize(
    ("key", "text", "modifiers", "allowed"),
    [
        ("A", "a", "", True),
        ("A", "A", "Shift", True),
        ("At", "@", "AltGr", True),
        ("Eacute", "é", "", True),
        ("Return", "\r", "", True),
        ("Return", "\r", "Shift", True),
        ("Backspace", "\b", "", True),
        ("Left", "", "", True),
        ("Escape", "\x1b", "", True),
        ("S", "\x13", "Ctrl Alt Shift", True),
        ("Left", "", "Alt", False),
        ("F1", "", "", False),
        ("F5", "", "", False),
        ("F10", "", "Shift", False),
        ("F11", "", "", False),
        ("F12", "", "", False),
        ("I", "\t", "Ctrl Shift", False),
        ("W", "\x17", "Ctrl", False),
        ("P", "\x10", "Ctrl", False),
        ("Plus", "+", "Ctrl", False),
        ("F4", "", "Alt", False),
        ("Tab", "\t", "Alt", False),
        ("D", "d", "Meta", False),
        ("Menu", "", "", False),
        ("Print", "", "", False),
        ("HomePage", "", "", False),
        ("LaunchMail", "", "", False),
        ("Back", "", "", False),
        ("Refresh", "", "", False),
    ],
)
def test_keys_type_and_move_and_nothing_else(key, text, modifiers, allowed):
    assert allowed is POLICY.may_press(key, text, frozenset(modifiers.split()))


@pytest.mark.parametrize("button", ["Right", "Middle", "Back", "Forward", "Extra3"])
def test_only_the_left_button_works(button):
    assert POLICY.may_click("Left", NONE)
    assert not POLICY.may_click(button, NONE)
    assert not POLICY.may_click("Left", frozenset({"Ctrl"}))


def test_an_address_without_a_port_has_its_schemes():
    assert Origin("https", "museum.example", 443) == origin_of("https://Museum.example/x")


def test_the_page_is_tried_eight_times_more_and_a_success_starts_over():
    state, waits = Opening(), []
    while not opening.gave_up(state):
        state, wait_s = opening.finished(state, ok=False)
        waits.append(wait_s)

    assert [*opening.WAITS_S, None] == waits
    assert opening.finished(state, ok=True) == (Opening(), None)


def test_the_engine_starts_without_debugging_and_with_its_sandbox_unless_root():
    before = {
        "QTWEBENGINE_REMOTE_DEBUGGING": "9222",
        "QTWEBENGINE_CHROMIUM_FLAGS": "--remote-debugging-port=9222 --mute-audio",
        "QTWEBENGINE_DISABLE_SANDBOX": "1",
    }
    after = engine_environment(before, root=False)

    assert "QTWEBENGINE_REMOTE_DEBUGGING" not in after
    assert "QTWEBENGINE_DISABLE_SANDBOX" not in after
    assert "remote" not in after["QTWEBENGINE_CHROMIUM_FLAGS"]
    assert "--mute-audio --autoplay-policy=no-user-gesture-required" in after["QTWEBENGINE_CHROMIUM_FLAGS"]
    assert engine_environment({}, root=True)["QTWEBENGINE_DISABLE_SANDBOX"] == "1"


@pytest.mark.parametrize(
    "arguments",
    [["--url", "file:///etc/passwd"], ["--url", "http://museum.example/"], ["--url", PAGE + "#token=x"], ["--bogus"]],
)
def test_bad_arguments_end_with_two(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "wayside_kiosk", *arguments],
        env={**os.environ, "DISPLAY": ":0"},
        capture_output=True,
        timeout=20,
        check=False,
    )

    assert done.returncode == 2
