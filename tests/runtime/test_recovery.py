"""A visit survives the death of its process, and nothing of it survives its end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from kit import ANSWER, Scene, ScriptedDialogue, scene, virtually
from wayside.core.plain_json import Json
from wayside.ports.run_store import RunStore
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.runtime.recovery import STATE, state_from_json
from wayside.runtime.screen import Snapshot


class Left(MemoryRunStore):
    """A store that outlives whoever used it: closing it closes nothing, as with a process that dies."""

    durable = True

    def __init__(self) -> None:
        super().__init__()
        self.deleted = False

    async def delete(self) -> None:
        self.deleted = True
        await super().delete()


class LeftStores:
    """Stores of a kiosk whose earlier process died with `left` open."""

    notices: frozenset[str] = frozenset()

    def __init__(self, left: Left | None = None) -> None:
        self.left = left
        self.opened: list[Left] = []
        self.forgotten = 0

    async def open(self) -> RunStore:
        self.opened.append(Left())
        return self.opened[-1]

    async def left_over(self) -> RunStore | None:
        return self.left

    async def forget(self) -> None:
        self.forgotten += 1


async def _copy(store: RunStore, state: dict[str, Json] | None = None) -> Left:
    """What a process that is killed now leaves on its file."""
    left = Left()
    for record in reversed(await store.load_runs()):
        await left.create(record, await store.load_events(record.id))
        for delivery in await store.load_deliveries((record.id,)):
            await left.save_delivery(delivery)
    for row in await store.load_transcript("kiosk"):
        await left.append_transcript(row)
    kept = await store.load_state(STATE)
    assert isinstance(kept, dict)
    await left.save_state(STATE, kept | (state or {}))
    return left


async def _left(s: Scene, stores: LeftStores) -> tuple[Left, float]:
    """The store of a process that is killed now, and the time."""
    await s.visit.keep()
    return await _copy(stores.opened[0]), s.link.clock.now()


@contextlib.asynccontextmanager
async def taken_up(left: Left, now: float) -> AsyncIterator[Scene]:
    """The process after that one, three seconds later, with the visit open again."""
    async with scene(stores=LeftStores(left), start=False, now=now + 3) as s:
        await s.until(lambda: s.kiosk.visit is not None)
        yield s


async def _interrupted_by_death(after_s: float = 3.0, state: dict[str, Json] | None = None) -> tuple[Left, str, float]:
    """Ask, hear some of the answer, die. The store, the visit's token, and the time."""
    stores = LeftStores()
    async with scene(stores=stores) as s:
        s.visit.say("Who made it?")
        await s.until(s.sounding)
        await asyncio.sleep(after_s)
        await s.visit.keep()
        return await _copy(stores.opened[0], state), s.visit.token, s.link.clock.now()


@virtually
async def test_after_a_restart_people_see_what_was_heard_and_nothing_is_said_by_itself() -> None:
    left, token, now = await _interrupted_by_death()
    async with taken_up(left, now) as s:
        await asyncio.sleep(5)
        snapshot = s.visit.snapshot()

        assert token == s.visit.token
        assert [("visitor", "Who made it?")] == [(line.role, line.text) for line in snapshot.lines[:1]]
        heard = snapshot.lines[1]
        assert ANSWER.startswith(heard.text) and 0 < len(heard.text) < len(ANSWER)
        assert "interrupted" == heard.state
        assert ["abv"] == [source.id for source in heard.sources]
        assert not s.sounding(5)
        assert [] == s.dialogue.contexts


@virtually
async def test_the_undelivered_rest_is_offered_and_said_once_when_asked_for() -> None:
    left, _, now = await _interrupted_by_death()
    async with taken_up(left, now) as s:
        first = s.visit.snapshot()
        offered = first.choices[0]

        assert "continue" == offered.kind
        assert s.visit.choose(offered.id)
        await s.until(lambda: s.answered)
        last = s.visit.snapshot()

        heard = [line.text for line in last.lines if line.role == "guide"]
        assert ANSWER.split() == " ".join(heard).split()
        assert heard[0] == first.lines[1].text
        assert [] == s.dialogue.contexts
        assert all(choice.kind == "question" for choice in last.choices)


@pytest.mark.parametrize("words", ["Go on with the answer.", "go on", "Continue", "yes please"])
def test_words_take_up_the_rest_as_a_touch_does(words: str) -> None:
    @virtually
    async def check() -> None:
        left, _, now = await _interrupted_by_death()
        async with scene(stores=LeftStores(left), start=False, now=now + 3) as s:
            await s.until(lambda: s.kiosk.visit is not None)
            first = s.visit.snapshot().lines[1].text
            s.visit.say(words)
            await s.until(lambda: s.answered)

            heard = [line.text for line in s.visit.snapshot().lines if line.role == "guide"]
            assert ANSWER.split() == " ".join(heard).split()
            assert first == heard[0]
            assert [] == s.dialogue.contexts

    check()


@virtually
async def test_the_rest_is_offered_in_its_own_language_only() -> None:
    left, _, now = await _interrupted_by_death()
    async with taken_up(left, now) as s:
        s.visit.set_language("es")
        in_spanish = [choice.kind for choice in s.visit.snapshot().choices]
        s.visit.say("sigue")
        await s.until(lambda: s.answered)

        assert ["question"] == in_spanish
        assert 1 == len(s.dialogue.contexts)


@virtually
async def test_asking_something_else_gives_up_the_rest_and_remembers_what_was_heard() -> None:
    left, _, now = await _interrupted_by_death()
    async with taken_up(left, now) as s:
        heard = s.visit.snapshot().lines[1].text
        s.visit.say("And where?")
        await s.until(lambda: s.answered)

        history = s.dialogue.contexts[0].history
        assert ["Who made it?", heard] == [item.text for item in history]
        assert ("amphora#maker",) == history[1].passages
        assert all(choice.kind == "question" for choice in s.visit.snapshot().choices)


@virtually
async def test_a_run_that_was_still_thinking_is_finished_silently_and_its_answer_offered() -> None:
    stores = LeftStores()
    async with scene(stores=stores, dialogue=ScriptedDialogue(delay_s=4)) as s:
        s.visit.say("Who made it?")
        await asyncio.sleep(1)
        left, now = await _left(s, stores)
    async with taken_up(left, now) as s:
        await asyncio.sleep(3)

        assert not s.sounding(3)
        assert ["continue", "question"] == [choice.kind for choice in s.visit.snapshot().choices]
        assert 1 == len(s.dialogue.contexts)
        s.visit.choose(s.visit.snapshot().choices[0].id)
        await s.until(lambda: s.answered)
        assert ANSWER == s.visit.snapshot().lines[-1].text
        assert 1 == len(s.dialogue.contexts)


@virtually
async def test_an_answer_that_was_heard_whole_leaves_no_rest() -> None:
    stores = LeftStores()
    async with scene(stores=stores) as s:
        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)
        left, now = await _left(s, stores)
    async with taken_up(left, now) as s:
        assert ["question"] == [choice.kind for choice in s.visit.snapshot().choices]
        assert "finished" == s.visit.snapshot().lines[1].state


@virtually
async def test_an_answer_that_the_visitor_cut_off_is_not_offered_again() -> None:
    stores = LeftStores()
    async with scene(stores=stores) as s:
        s.visit.say("Who made it?")
        await s.until(s.sounding)
        await asyncio.sleep(1)
        s.visit.stop()
        await s.until(lambda: s.answered)
        left, now = await _left(s, stores)
    async with taken_up(left, now) as s:
        assert ["question"] == [choice.kind for choice in s.visit.snapshot().choices]


@virtually
async def test_language_exhibit_volume_and_silence_come_back() -> None:
    stores = LeftStores()
    async with scene(stores=stores) as s:
        s.visit.set_language("es")
        s.visit.look_at("amphora")
        s.visit.set_volume(-6)
        s.visit.set_silent(silent=True)
        left, now = await _left(s, stores)
    async with taken_up(left, now) as s:
        snapshot = s.visit.snapshot()

        assert ("es", "amphora", -6, True) == (snapshot.language, snapshot.exhibit, snapshot.volume, snapshot.silent)


@virtually
async def test_after_the_grace_time_the_start_screen_is_shown_and_the_file_is_gone() -> None:
    left, _, now = await _interrupted_by_death()
    stores = LeftStores(left)
    async with scene(stores=stores, start=False, now=now + 3600) as s:
        await s.kiosk.opened()

        assert s.kiosk.visit is None
        assert left.deleted
        assert 1 == stores.forgotten
        assert isinstance(s.kiosk.attract("en"), Snapshot)


@virtually
async def test_generations_go_on_rising_after_a_restart() -> None:
    left, _, now = await _interrupted_by_death()
    async with taken_up(left, now) as s:
        s.visit.say("And where?")
        await s.until(lambda: s.answered)

        keys = [line.key for line in s.visit.snapshot().lines if line.role == "guide"]
        assert ["1", "2"] == keys


@virtually
async def test_a_state_that_can_not_be_read_ends_the_visit() -> None:
    left, _, now = await _interrupted_by_death(state={"volume": "loud"})
    async with scene(stores=LeftStores(left), start=False, now=now + 3) as s:
        await s.kiosk.opened()

        assert s.kiosk.visit is None
        assert left.deleted


@virtually
async def test_the_end_of_a_visit_deletes_its_store() -> None:
    stores = LeftStores()
    async with scene(stores=stores) as s:
        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)
        await s.kiosk.reset("ended")

        assert stores.opened[0].deleted
        await s.kiosk.start_visit("en")
        assert 2 == len(stores.opened)
        assert () == await stores.opened[1].load_runs()


def test_a_state_with_other_fields_is_no_state() -> None:
    assert state_from_json({"id": "x"}) is None
    assert state_from_json(None) is None
    assert state_from_json("visit") is None
