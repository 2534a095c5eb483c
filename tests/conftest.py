"""Fixtures every suite may ask for."""

from audio_server import audio_server, shared_audio_server

__all__ = ["audio_server", "shared_audio_server"]
