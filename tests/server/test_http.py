"""Routes that are not the visit: who may ask, what bad bodies get, what is served."""

import asyncio
import json

import pytest
from server.kit import HEADERS, HOST, OPERATOR, ORIGIN, TOKEN, served

PLACES = ["/", "/live", "/ready", "/health", "/v1/status", "/v1/visit", "/assets/kiosk.js", "/fallback/manifest.json"]
BEARER = HEADERS | {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def scene(tmp_path):
    async with served(tmp_path) as scene:
        yield scene


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:8765", "127.0.0.1", "kiosk.test", "kiosk.test:8765.evil.test"]
)
async def test_a_foreign_host_is_refused(scene, path, host):
    answer = await scene.client.get(path, headers={"Host": host})

    assert 421 == answer.status
    assert "host.unknown" == (await answer.json())["code"]


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("origin", ["http://evil.test", "null", "https://127.0.0.1:8780", "http://127.0.0.1:87801", ""])
async def test_a_foreign_origin_is_refused(scene, path, origin):
    assert 403 == (await scene.client.get(path, headers=HEADERS | {"Origin": origin})).status


async def test_the_page_of_the_watchdog_may_connect(scene):
    async with scene.client.ws_connect("/v1/visit", headers=HEADERS | {"Origin": ORIGIN}) as socket:
        await socket.send_json({"type": "hello", "token": TOKEN})

        assert "welcome" == (await socket.receive_json())["type"]


@pytest.mark.parametrize("path", ["/", "/live", "/assets/kiosk.js", "/fallback/manifest.json", "/nothing", "/health"])
async def test_every_answer_carries_the_headers(scene, path):
    answer = await scene.client.get(path, headers=HEADERS)

    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert f"connect-src 'self' ws://{HOST};" in policy
    assert not any(word in policy for word in ("unsafe", "*", "http:", "data:"))
    assert "nosniff" == answer.headers["X-Content-Type-Options"]
    assert "no-referrer" == answer.headers["Referrer-Policy"]
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


async def test_live_ready_and_status(scene):
    live = await scene.client.get("/live", headers=HEADERS)
    ready = await scene.client.get("/ready", headers=HEADERS)
    status = await scene.client.get("/v1/status", headers=HEADERS)

    assert (200, {"status": "live"}) == (live.status, await live.json())
    assert (200, {"status": "ready", "degraded": ["audio.microphone_lost"]}) == (ready.status, await ready.json())
    assert f"ws://{HOST}/v1/visit" == (await status.json())["socket"]


async def test_not_ready_is_503(scene):
    scene.ready = False
    answer = await scene.client.get("/ready", headers=HEADERS)

    assert (503, "not_ready") == (answer.status, (await answer.json())["status"])


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"bearer {TOKEN}x", "Bearer é", TOKEN]
)
@pytest.mark.parametrize(
    ("method", "path"), [("get", "/health"), ("post", "/v1/operator/reset"), ("post", "/v1/operator/volume")]
)
async def test_operators_need_a_token(scene, given, method, path):
    answer = await scene.client.request(method, path, headers=HEADERS | {"Authorization": given}, json={"db": 3})

    assert 401 == answer.status
    assert [] == scene.volumes


async def test_a_token_that_is_no_text_is_refused(scene):
    reader, writer = await asyncio.open_connection(scene.client.server.host, scene.client.server.port)
    writer.write(f"GET /health HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer ".encode() + b"\xff\xfe\r\n\r\n")
    line = await reader.readline()
    writer.close()

    assert b"401" in line or b"400" in line


@pytest.mark.parametrize("token", [TOKEN, OPERATOR])
async def test_boot_and_operator_tokens_open_health(scene, token):
    answer = await scene.client.get("/health", headers=HEADERS | {"Authorization": f"Bearer {token}"})

    assert (200, {"version": "1"}) == (answer.status, await answer.json())


@pytest.mark.parametrize("body", [b"", b"{", b'{"reason":"staff"}', b'{"reason":5}', b"[" * 5000])
async def test_an_operator_resets_whatever_the_body_says(scene, body):
    async with scene.visit() as page:
        answer = await scene.client.post("/v1/operator/reset", headers=BEARER, data=body)
        await page.until(lambda: page.of("reset"))

        assert (200, {"ok": True}) == (answer.status, await answer.json())
        assert "staff" == page.of("reset")[-1]["reason"]
        assert "attract" == page.snapshot["phase"]


async def test_a_reset_without_a_visit_is_fine(scene):
    assert 200 == (await scene.client.post("/v1/operator/reset", headers=BEARER)).status


@pytest.mark.parametrize("db", [-20, 0, 12, 3.5])
async def test_an_operator_sets_the_volume(scene, db):
    answer = await scene.client.post("/v1/operator/volume", headers=BEARER, json={"db": db})

    assert (200, {"ok": True, "volume": db}) == (answer.status, await answer.json())
    assert ([db], db) == (scene.volumes, scene.kiosk.volume_db)


async def test_a_volume_that_can_not_be_kept_is_set_and_told(scene):
    scene.disk_full = True

    answer = await scene.client.post("/v1/operator/volume", headers=BEARER, json={"db": -6})

    assert (200, {"ok": True, "volume": -6.0, "kept": False}) == (answer.status, await answer.json())
    assert ([], -6) == (scene.volumes, scene.kiosk.volume_db)


@pytest.mark.parametrize(
    "body",
    [
        *['{"db":-20.1}', '{"db":12.1}', '{"db":NaN}', '{"db":Infinity}', '{"db":"3"}', '{"db":true}', '{"db":null}'],
        *["{}", "[]", "3", "null", "", "{", "[" * 10_000, '{"db":' + "9" * 5000 + "}", '{"db":1e999}'],
    ],
)
async def test_a_bad_volume_is_refused(scene, body):
    answer = await scene.client.post("/v1/operator/volume", headers=BEARER, data=body.encode())

    assert 400 == answer.status
    assert (await answer.json())["message"]
    assert [] == scene.volumes


@pytest.mark.parametrize("charset", ["utf-16", "bogus", "idna"])
async def test_a_body_in_another_charset_is_refused(scene, charset):
    headers = BEARER | {"Content-Type": f"application/json; charset={charset}"}
    answer = await scene.client.post("/v1/operator/volume", headers=headers, data=b'{"db":\xff}')

    assert 400 == answer.status


async def test_a_large_body_is_refused(scene):
    answer = await scene.client.post("/v1/operator/volume", headers=BEARER, data=json.dumps({"db": "x" * 20_000}))

    assert 413 == answer.status


@pytest.mark.parametrize("root", ["/assets", "/fallback"])
@pytest.mark.parametrize(
    "path",
    [
        *[
            "/../../secret.txt",
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "/%2e%2e%2f%2e%2e%2fsecret.txt",
        ],
        *["//etc/passwd", "/....//secret.txt", "/..\\secret.txt", "/%00", "/link.txt", "/", "", "/.."],
    ],
)
async def test_nothing_outside_the_folders_is_served(scene, tmp_path, root, path):
    for folder in (tmp_path / "static" / "assets", tmp_path / "fallback"):
        (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    reader, writer = await asyncio.open_connection(scene.client.server.host, scene.client.server.port)
    writer.write(f"GET {root}{path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()

    assert answer.split(b" ", 2)[1] in {b"400", b"403", b"404"}
    assert b"secret" not in answer.split(b"\r\n\r\n", 1)[1]
    assert b"root:" not in answer


async def test_without_a_page_the_remedy_is_told(scene, tmp_path):
    (tmp_path / "static" / "index.html").unlink()
    answer = await scene.client.get("/", headers=HEADERS)

    assert 503 == answer.status
    assert "make page" in await answer.text()
