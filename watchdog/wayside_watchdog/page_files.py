"""Files of the page bundle and of the pack's fallback: only regular files inside their folder, never hidden ones."""

import asyncio
import html
import json
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from aiohttp import web

TYPES = {
    ".css": "text/css",
    ".flac": "audio/flac",
    ".gif": "image/gif",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".vtt": "text/vtt",
    ".wasm": "application/wasm",
    ".wav": "audio/wav",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
TEXT_TYPES = frozenset({".css", ".html", ".js", ".json", ".svg", ".txt", ".vtt", ".webmanifest"})
MAX_MANIFEST_BYTES = 8 * 1024 * 1024
_STYLE = """
body{margin:0;background:#14110f;color:#f4ede4;font:1.5rem/1.5 "Noto Sans","DejaVu Sans",sans-serif}
main{max-width:44rem;margin:0 auto;padding:8vh 2rem}
h1{font-size:3rem;line-height:1.1;margin:0 0 1rem}h2{font-size:2rem;margin:3rem 0 .5rem}
.notice{border-left:.4rem solid #e0a458;padding-left:1rem;color:#f0d9b8}
"""
PLAIN_STYLE_SOURCE = "'sha256-" + b64encode(sha256(_STYLE.encode()).digest()).decode() + "'"


@dataclass(frozen=True, slots=True)
class PageFolder:
    """The built page. It may be missing, or appear later."""

    folder: Path

    def exists(self) -> bool:
        return self.entry() is not None

    def entry(self) -> Path | None:
        """The file that answers `/`."""
        return next((file for name in ("index.html", "kiosk.html") if (file := self.folder / name).is_file()), None)

    def build(self) -> str:
        """An id of this build: pages compare it and reload once when it changes."""
        entry = self.entry()
        try:
            return sha256(entry.read_bytes()).hexdigest()[:12] if entry is not None else "none"
        except OSError:
            return "none"


async def answer(folder: Path, path: str, *, immutable: bool = False) -> web.StreamResponse:
    """Send `path` inside `folder`, or 404. Symbolic links may not lead outside."""
    file = await asyncio.to_thread(find, folder, path)
    if file is None:
        raise web.HTTPNotFound
    kind = TYPES[file.suffix.lower()]
    if file.suffix.lower() in TEXT_TYPES:
        kind += "; charset=utf-8"
    cache = "public, max-age=31536000, immutable" if immutable else "no-cache"
    return web.FileResponse(file, headers={"Content-Type": kind, "Cache-Control": cache})


def find(folder: Path, path: str) -> Path | None:
    """The file that `path` names, if it may be served."""
    parts = path.split("/")
    if not path or "\0" in path or "\\" in path or any(not part or part.startswith(".") for part in parts):
        return None
    root = folder.resolve()
    file = root.joinpath(*parts).resolve()
    allowed = file.is_relative_to(root) and file.suffix.lower() in TYPES and file.is_file()
    return file if allowed else None


def plain_page(fallback: Path) -> str:
    """A page that needs no bundle: who we are, that staff can help, and the approved texts."""
    manifest = _manifest(fallback)
    language = next(iter(_strings(manifest.get("languages"))), "en")
    title = _wording(manifest.get("title"), language) or "Wayside"
    notice = _wording(manifest.get("staff_help"), language) or "The guide is being prepared. Please ask our staff."
    exhibits = manifest.get("exhibits")
    sections = [_section(item, language) for item in exhibits] if isinstance(exhibits, list) else []
    return (
        f'<!doctype html><html lang="{html.escape(language)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="refresh" content="20"><title>{html.escape(title)}</title><style>{_STYLE}</style></head>'
        f'<body><main><h1>{html.escape(title)}</h1><p class="notice">{html.escape(notice)}</p>'
        f"{''.join(sections)}</main></body></html>"
    )


def _section(exhibit: object, language: str) -> str:
    if not isinstance(exhibit, dict):
        return ""
    passages = exhibit.get("passages")
    listed = passages.get(language) if isinstance(passages, dict) else None
    texts = (
        [item["text"] for item in listed if isinstance(item, dict) and isinstance(item.get("text"), str)]
        if (isinstance(listed, list))
        else []
    )
    head = html.escape(_wording(exhibit.get("title"), language))
    return f"<h2>{head}</h2>" + "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def _manifest(fallback: Path) -> dict[str, object]:
    file = fallback / "manifest.json"
    try:
        if file.stat().st_size > MAX_MANIFEST_BYTES:
            return {}
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _wording(value: object, language: str) -> str:
    if not isinstance(value, dict):
        return ""
    text = value.get(language) or next(iter(value.values()), "")
    return text if isinstance(text, str) else ""
