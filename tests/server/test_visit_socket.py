"""The visit socket from a page's point of view: greeting, bad frames, outcomes, taking over, coming back."""

import asyncio

import pytest
from server.kit import HEADERS, TOKEN, served

BAD = {
    "unknown type": ('{"type":"sudo","id":"1"}', "frame.unknown"),
    "no type": ('{"id":"1"}', "frame.unknown"),
    "not an object": ("[1,2,3]", "frame.malformed"),
    "not JSON": ("{", "frame.malformed"),
    "empty": ("", "frame.malformed"),
    "unknown field": ('{"type":"stop","id":"1","force":true}', "frame.malformed"),
    "missing id": ('{"type":"stop"}', "frame.malformed"),
    "empty id": ('{"type":"stop","id":""}', "frame.malformed"),
    "wrong type of field": ('{"type":"say","id":"1","text":{}}', "frame.malformed"),
    "text too long": ('{"type":"say","id":"1","text":"' + "a" * 501 + '"}', "frame.malformed"),
    "NaN": ('{"type":"setting","id":"1","name":"volume","value":NaN}', "frame.malformed"),
    "infinity": ('{"type":"setting","id":"1","name":"volume","value":1e999}', "frame.malformed"),
    "out of range": ('{"type":"setting","id":"1","name":"volume","value":13}', "frame.malformed"),
    "negative count": ('{"type":"shown","generation":-1,"utterance_id":0,"chars":0}', "frame.malformed"),
    "endless number": ('{"type":"heartbeat","frames":' + "9" * 9000 + ',"tick":0}', "frame.malformed"),
    "deep": ("[" * 8000 + "]" * 8000, "frame.malformed"),
    "deep in a field": ('{"type":"say","id":"1","text":' + '{"a":' * 2000 + "1" + "}" * 2001, "frame.malformed"),
    "lone surrogate": ('{"type":"say","id":"1","text":"\\ud800"}', "frame.malformed"),
    "oversize": ('{"type":"say","id":"1","text":"' + "a" * 17_000 + '"}', "frame.oversize"),
    "oversize in bytes": ('{"type":"say","id":"1","text":"' + "ñ" * 8_200 + '"}', "frame.oversize"),
}


@pytest.fixture
async def scene(tmp_path):
    async with served(tmp_path) as scene:
        yield scene


async def test_hello_gets_welcome_and_snapshot(scene):
    async with scene.page() as page:
        welcome, snapshot = page.frames[:2]

        assert ("welcome", "", "", 7) == (welcome["type"], welcome["visit"], welcome["visit_token"], welcome["epoch"])
        assert ("snapshot", "attract", []) == (snapshot["type"], snapshot["phase"], snapshot["lines"])
        assert [1, 2] == [frame["seq"] for frame in page.frames]


@pytest.mark.parametrize("token", ["wrong", "", "boot-tokenx", "тест", "x" * 200])
async def test_a_wrong_token_is_refused(scene, token):
    async with scene.page(hello=False) as page:
        await page.send("hello", token=token)
        await page.closed.wait()

        assert ["hello.token"] == page.errors
        assert not scene.screen.connected


@pytest.mark.parametrize(
    "first",
    [
        *['{"type":"start","id":"1","language":"en"}', '{"type":"end","id":"1"}', '{"type":"activity"}', "{", ""],
        *['{"type":"hello"}', '{"type":"hello","token":"\\udfff"}', '{"type":"hello","token":"' + "x" * 201 + '"}'],
    ],
)
async def test_the_first_frame_must_be_a_hello(scene, first):
    async with scene.page(hello=False) as page:
        await page.socket.send_str(first)
        await page.closed.wait()

        assert ["hello.expected"] == page.errors
        assert scene.kiosk.visit is None


async def test_a_page_that_was_refused_does_not_take_the_screen(scene):
    async with scene.visit() as page:
        async with scene.page(hello=False) as intruder:
            await intruder.send("hello", token="wrong")  # noqa: S106
            await intruder.closed.wait()

        assert (await page.ask("stop", "s"))["type"] == "ack"
        assert not page.of("taken_over")


async def test_a_second_hello_is_refused(scene):
    async with scene.page() as page:
        await page.send("hello", token=TOKEN)
        await page.until(lambda: page.errors)

        assert ["hello.again"] == page.errors


@pytest.mark.parametrize(("frame", "code"), BAD.values(), ids=BAD)
async def test_a_bad_frame_is_answered_and_the_visit_goes_on(scene, frame, code):
    async with scene.visit() as page:
        visit = scene.kiosk.visit
        await page.socket.send_str(frame)
        await page.until(lambda: page.errors)
        answer = await page.ask("say", "after", text="Who made it?")

        assert [code] == page.errors
        assert page.of("error")[0]["message"]
        assert "ack" == answer["type"]
        assert visit is scene.kiosk.visit


async def test_a_binary_frame_is_answered(scene):
    async with scene.visit() as page:
        await page.socket.send_bytes(b'{"type":"end","id":"1"}')
        await page.until(lambda: page.errors)

        assert ["frame.malformed"] == page.errors
        assert scene.kiosk.visit is not None


async def test_of_two_keys_the_last_counts(scene):
    async with scene.visit() as page:
        await page.socket.send_str('{"type":"end","type":"stop","id":"1"}')
        await page.until(lambda: any(f.get("id") == "1" for f in page.of("ack")))

        assert scene.kiosk.visit is not None


async def test_a_huge_frame_ends_the_connection_and_not_the_visit(scene):
    async with scene.visit() as page:
        await page.socket.send_str("x" * 1_000_000)
        await page.closed.wait()

        assert 1009 == page.socket.close_code
        assert scene.kiosk.visit is not None


async def test_a_flood_is_answered_once_a_second_and_the_visit_goes_on(scene):
    async with scene.visit() as page:
        for _ in range(400):
            await page.send("activity")
        await page.until(lambda: page.errors)
        await asyncio.sleep(1.05)
        answer = await page.ask("stop", "after")

        assert {"frame.flood"} == set(page.errors)
        assert len(page.errors) <= 2
        assert "ack" == answer["type"]


COMMANDS = [
    ("language", {"language": "es"}),
    ("talk_down", {}),
    ("talk_up", {}),
    ("listen", {"mode": "automatic"}),
    ("say", {"text": "Who made it?"}),
    ("exhibit", {"exhibit": "amphora"}),
    ("exhibit", {"exhibit": None}),
    ("choose", {"choice_id": "amphora#maker:en"}),
    ("stop", {}),
    ("setting", {"name": "volume", "value": -6}),
    ("setting", {"name": "silent", "value": 1}),
    ("extend", {}),
    ("end", {}),
]


@pytest.mark.parametrize(("kind", "fields"), COMMANDS)
async def test_every_command_is_acked_and_repeated_ones_too(scene, kind, fields):
    async with scene.visit() as page:
        first = await page.ask(kind, "once", **fields)
        again = await page.ask(kind, "once", **fields)

        assert ["ack", "ack"] == [first["type"], again["type"]]


async def test_a_repeated_command_is_carried_out_once(scene):
    async with scene.visit() as page:
        await page.ask("say", "once", text="Who made it?")
        await page.ask("say", "once", text="Who made it?")
        await page.ask("stop", "stop")

        assert 1 == len(scene.dialogue.contexts)


async def test_a_repeated_command_gets_its_first_error(scene):
    async with scene.visit() as page:
        first = await page.ask("choose", "c", choice_id="nothing")
        again = await page.ask("stop", "c")

        assert ["choice.unknown", "choice.unknown"] == [first["code"], again["code"]]


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("start", {"language": "tlh"}, "language.unknown"),
        ("language", {"language": ""}, "language.unknown"),
        ("exhibit", {"exhibit": "../etc"}, "exhibit.unknown"),
        ("choose", {"choice_id": ""}, "choice.unknown"),
    ],
)
async def test_what_does_not_exist_is_refused(scene, kind, fields, code):
    async with scene.visit() as page:
        assert code == (await page.ask(kind, "x", **fields))["code"]


@pytest.mark.parametrize(("kind", "fields"), [c for c in COMMANDS if c[0] != "language"])
async def test_a_command_without_a_visit_gets_an_error_and_a_snapshot(scene, kind, fields):
    async with scene.page() as page:
        seen = len(page.of("snapshot"))
        answer = await page.ask(kind, "x", **fields)
        await page.until(lambda: len(page.of("snapshot")) > seen)

        assert "visit.none" == answer["code"]
        assert "attract" == page.snapshot["phase"]


async def test_a_start_waits_for_a_kiosk_that_is_opening(tmp_path):
    async with served(tmp_path, running=False) as scene, scene.page() as page:
        await page.send("start", "s", language="en")
        await asyncio.sleep(0.1)
        assert not page.errors
        running = scene.group.create_task(scene.kiosk.run())
        await page.until(lambda: page.snapshot["phase"] == "visit")

        scene.kiosk.close()
        await running


async def test_a_start_before_a_kiosk_that_does_not_open_is_refused_kindly(tmp_path, monkeypatch):
    monkeypatch.setattr("wayside.runtime.kiosk.OPENING_DEADLINE_S", 0.1)
    async with served(tmp_path, running=False) as scene, scene.page() as page:
        answer = await page.ask("start", "s", language="en")

        assert "kiosk.starting" == answer["code"]
        assert not page.closed.is_set()


async def test_a_newer_page_takes_over(scene):
    async with scene.visit() as first, scene.page(visit_token=scene.kiosk.visit.token) as second:
        await first.closed.wait()

        assert "taken_over" == first.frames[-1]["type"]
        assert "visit" == second.snapshot["phase"]
        assert (await second.ask("stop", "s"))["type"] == "ack"


async def test_a_page_that_was_taken_over_commands_nothing(scene):
    async with scene.visit() as first, scene.page(hello=False) as second:
        await asyncio.gather(second.hello(), first.send("end", "late"))
        # Whatever the order of arrival: once it was told, nothing it sends is carried out.
        await first.closed.wait()
        taken = next(i for i, f in enumerate(first.frames) if f["type"] == "taken_over")

        assert [] == first.frames[taken + 1 :]


async def test_a_page_that_comes_back_gets_the_lines_and_no_old_sound(scene):
    async with scene.visit() as page:
        token = page.of("welcome")[-1]["visit_token"]
        await page.ask("say", "q", text="Who made it?")
        await page.until(lambda: any(f["state"] == "finished" for f in page.of("caption")))
    async with scene.page(visit_token=token) as page:
        await asyncio.sleep(0.1)

        assert token == page.of("welcome")[-1]["visit_token"]
        assert ["visitor", "guide"] == [line["role"] for line in page.snapshot["lines"]]
        assert scene.dialogue.text == page.snapshot["lines"][1]["text"].strip()
        assert [] == [f for f in page.frames if f["type"] in {"utterance", "caption", "level"}]


async def test_a_page_that_comes_back_after_the_reset_sees_the_start(scene):
    async with scene.visit() as page:
        token = page.of("welcome")[-1]["visit_token"]
    await scene.kiosk.reset("inactive")
    async with scene.page(visit_token=token) as page:
        assert ("attract", []) == (page.snapshot["phase"], page.snapshot["lines"])
        assert "" == page.of("welcome")[-1]["visit_token"]


@pytest.mark.parametrize("token", [None, ""])
async def test_the_screen_that_was_reloaded_goes_on_with_its_visit(scene, token):
    async with scene.visit():
        visit = scene.kiosk.visit
    async with scene.page(visit_token=token) as page:
        assert ("visit", visit.token) == (page.snapshot["phase"], page.of("welcome")[-1]["visit_token"])


async def test_a_page_of_another_visit_never_sees_this_one(scene):
    async with scene.visit() as first:
        await first.ask("say", "q", text="Who made it?")
        async with scene.page(visit_token="of-an-earlier-visit") as second:  # noqa: S106
            await first.closed.wait()

            assert ("attract", []) == (second.snapshot["phase"], second.snapshot["lines"])
            assert "Who made it?" not in repr(second.frames)
            assert scene.kiosk.visit is None
            assert ("attract", "taken_over") == (first.snapshot["phase"], first.frames[-1]["type"])


async def test_nothing_of_a_visitor_is_in_the_start_screen(scene):
    async with scene.visit() as page:
        await page.ask("language", "l", language="es")
        await page.ask("setting", "v", name="volume", value=6)
        await page.ask("setting", "s", name="silent", value=1)
        await page.ask("listen", "m", mode="automatic")
        await page.ask("exhibit", "e", exhibit="amphora")
        await page.ask("end", "end")
        snapshot = page.snapshot

        assert "ended" == page.of("reset")[-1]["reason"]
        assert ("attract", "en", "button", False, 0.0, None, [], []) == tuple(
            snapshot[k] for k in ("phase", "language", "mode", "silent", "volume", "exhibit", "choices", "lines")
        )


async def test_the_start_screen_speaks_what_the_page_asks_for(scene):
    async with scene.page(languages=["fr", "es"]) as page:
        assert "es" == page.snapshot["language"]


async def test_a_page_that_does_not_read_is_dropped_and_the_visit_goes_on(scene, monkeypatch):
    monkeypatch.setattr("wayside.server.visit_socket.MAX_QUEUE", 40)
    async with scene.client.ws_connect("/v1/visit", headers=HEADERS) as slow:
        await slow.send_json({"type": "hello", "token": TOKEN})
        await slow.receive()
        await slow.send_json({"type": "start", "id": "1", "language": "en"})
        async with asyncio.timeout(5):
            while scene.kiosk.visit is None:
                await asyncio.sleep(0.005)
        visit = scene.kiosk.visit
        slow._conn.transport.pause_reading()
        page = scene.screen._page
        for _ in range(40_000):
            visit.look_at("amphora")
            await asyncio.sleep(0)
            if page.finished:
                break

        assert page.finished
        assert visit is scene.kiosk.visit
        slow._conn.transport.resume_reading()
    async with scene.page(visit_token=visit.token) as page:
        assert "amphora" == page.snapshot["exhibit"]
        assert (await page.ask("stop", "s"))["type"] == "ack"
