"""Ask a running sidecar one typed question over its WebSocket, and wait for a spoken-or-shown answer with sources.

usage: ask_over_socket.py PORT QUESTION   (the boot token in WAYSIDE_TOKEN, or as `#token=…` of the address in stdin)
"""

import asyncio
import os
import re
import sys

import aiohttp

DEADLINE_S = 60.0


class RefusedError(Exception):
    """The sidecar did not answer the question."""


async def ask(port: int, token: str, question: str) -> tuple[str, list[str]]:
    """Return the answer's text and the titles of its sources."""
    origin = f"http://127.0.0.1:{port}"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"ws://127.0.0.1:{port}/v1/visit", origin=origin) as socket,
    ):
        await socket.send_json({"type": "hello", "token": token, "languages": ["en"]})
        await socket.send_json({"type": "start", "id": "1", "language": "en"})
        # Read, not spoken: a machine without a loudspeaker answers too.
        await socket.send_json({"type": "setting", "id": "2", "name": "silent", "value": 1})
        await _until(socket, lambda frame: frame["type"] == "ack" and frame["id"] == "2")
        await socket.send_json({"type": "say", "id": "3", "text": question})
        texts: list[str] = []
        sources: list[str] = []

        def answered(frame: dict) -> bool:
            if frame["type"] == "utterance":
                texts.append(frame["text"])
            elif frame["type"] == "sources":
                sources.extend(source["title"] for source in frame["sources"])
            return bool(texts and sources)

        await _until(socket, answered)
        await socket.send_json({"type": "end", "id": "4"})
        return " ".join(texts), sources


async def _until(socket: aiohttp.ClientWebSocketResponse, done) -> None:  # noqa: ANN001
    async for message in socket:
        frame = message.json()
        if frame["type"] == "error":
            raise RefusedError(f"refused: {frame['code']}")
        if done(frame):
            return
    raise RefusedError("the socket was closed before there was an answer")


def main() -> None:
    """Print the answer; exit 1 when there is none in time."""
    port, question = int(sys.argv[1]), sys.argv[2]
    token = os.environ.get("WAYSIDE_TOKEN", "")
    if not token:
        found = re.search(r"#token=(\S+)", sys.stdin.read())
        token = found[1] if found else ""
    try:
        text, sources = asyncio.run(asyncio.wait_for(ask(port, token, question), DEADLINE_S))
    except RefusedError as error:
        raise SystemExit(f"ask_over_socket: {error}") from None
    except TimeoutError:
        raise SystemExit(f"ask_over_socket: no answer within {DEADLINE_S:g} s") from None
    print(f"asked: {question}\nanswer: {text}\nsources: {', '.join(sources)}")


if __name__ == "__main__":
    main()
