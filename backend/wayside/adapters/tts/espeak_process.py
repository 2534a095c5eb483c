"""eSpeak NG as a process of its own (GPL-3.0): text goes in through stdin, phonemes or a wav come out."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from wayside.core.errors import WaysideError

EXECUTABLE = "espeak-ng"
_KILL_DEADLINE_S = 1.0


@asynccontextmanager
async def espeak(arguments: Sequence[str], text: str) -> AsyncIterator[asyncio.StreamReader]:
    """Run it on `text` (`--stdin` is added) and give its stdout. It is dead and reaped when the block is left.

    Raises `WaysideError("tts.failed")` when it cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            EXECUTABLE,
            "--stdin",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise WaysideError(
            "tts.failed", f"{EXECUTABLE} could not be started", remedy="Install it: apt install espeak-ng"
        ) from error
    if process.stdin is None or process.stdout is None:
        raise WaysideError("tts.failed", f"{EXECUTABLE} has no pipes")
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(text.encode())
            await process.stdin.drain()
            process.stdin.close()
        yield process.stdout
    finally:
        if process.returncode is None:
            # Not process.kill(): it polls first, and reaps what asyncio's own watcher waits for.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KILL_DEADLINE_S):
                await process.stdout.read()
                await process.wait()


async def phonemes(text: str, voice: str) -> str:
    """IPA of one phrase, words apart by one space, without marks for switched languages."""
    async with espeak(("-q", "--ipa", "-v", voice), text) as out:
        return " ".join((await out.read()).decode().split())
