"""The private audio server of benches, as fixtures."""

import pytest
from wayside.commands.null_sinks import RATE, AudioServer, Recording

__all__ = ["RATE", "AudioServer", "Recording", "audio_server", "shared_audio_server"]


@pytest.fixture(scope="session")
def shared_audio_server():
    server = AudioServer()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def audio_server(shared_audio_server, monkeypatch):
    """The server, with this process's environment pointing at it: children started now use it."""
    for key, value in shared_audio_server.environment.items():
        monkeypatch.setenv(key, value)
    yield shared_audio_server
    shared_audio_server.stop_helpers()
