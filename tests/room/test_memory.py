"""An agent remembers what was asked on its channel and what of its own words reached people, and nothing else."""

import asyncio

from kit import virtually
from room.engine import Script, Voice, room, says
from wayside.core.room.agents import RoomUtterance
from wayside.core.room.disclosure import NOBODY, ROOM, among
from wayside.core.runs.events import AssistantOutput, Decision, InputRequested, Progress, ShowSources
from wayside.core.runs.request import InputPolicy, Supersession
from wayside.ports.room_agent import MemoryItem
from wayside.runtime.runs.runtime import Hooks


def remembered(driver: Script, call: int = -1) -> list[tuple[str, str]]:
    return [(item.role, item.text) for item in driver.contexts[call].memory]


@virtually
async def test_a_whole_answer_is_remembered_when_it_was_said() -> None:
    """RFC-021 §10.15. Question and answer, oldest first, without the present question; with its evidence."""
    sources = Decision((ShowSources((), ("amphora#maker",)),))
    driver = Script(sources, says("Exekias made it."))
    async with room(guide=driver) as r:
        await r.answer("Who made it?")
        await r.quiet()
        await r.answer("And when?")

    assert () == driver.contexts[0].memory
    assert (
        MemoryItem("visitor", "guide", "Who made it?"),
        MemoryItem("agent", "guide", "Exekias made it.", ("amphora#maker",)),
    ) == driver.contexts[1].memory


@virtually
async def test_of_an_answer_that_was_interrupted_only_what_was_heard_is_remembered() -> None:
    """RFC-021 §10.15. The transcript has the whole of it; memory has its delivered prefix."""
    text = "One two three four five six seven eight nine ten."
    driver = Script(says(text))
    async with room(guide=driver) as r:
        await r.answer("First?")
        await asyncio.sleep(1)
        await r.answer("Second?")
        spoken = next(iter(r.voice.spoken.values()))

        assert text in await r.said()
    assert 0 < len(spoken) < len(text)
    assert [("visitor", "First?"), ("agent", spoken.rstrip())] == remembered(driver)


@virtually
async def test_what_nobody_heard_is_not_remembered() -> None:
    """RFC-021 §10.15. Waiting for the floor, withdrawn, or on no surface."""
    driver, other = Script(says("Unheard.")), Script(says("word " * 60, interruptible=False))
    async with room(guide=driver, potter=other) as r:
        await r.answer(r.ask(agents=("potter",), channel="b"))
        await r.answer("First?")
        await r.answer("Second?")
        await r.quiet()

        assert [("visitor", "First?")] == remembered(driver)
        assert ["Unheard."] * 2 == await r.said("public")


@virtually
async def test_a_reply_that_is_still_being_said_is_remembered_later() -> None:
    """RFC-021 §10.15. What could not be interrupted is read again when it is over."""
    text = "Please do not touch this vase, for it is very old indeed."
    driver = Script(says(text, interruptible=False), later=((says("a"),),))
    async with room(guide=driver, voice=Voice(rate=10)) as r:
        await r.answer("First?")
        await r.answer("Second?")
        part = remembered(driver)
        await r.quiet()
        await r.answer("Third?")

    assert ("visitor", "First?") == part[0]
    assert ("agent", text) not in part
    assert [("visitor", "First?"), ("agent", text), ("visitor", "Second?"), ("agent", "a")] == remembered(driver)


@virtually
async def test_filler_is_never_remembered() -> None:
    """RFC-022 §9.5. An ephemeral line among the words counts as said, and is left out."""

    async def present(_record, _progress):
        return RoomUtterance("Let me look. ", history="ephemeral")

    driver = Script(
        Progress("look"), says("Hm. ", "f", history="ephemeral"), says("It is black.", "a"), says(" So.", "g",
        history="ephemeral"))  # fmt: skip
    async with room(guide=driver, hooks=Hooks(present=present)) as r:
        await r.answer("First?")
        await r.quiet()
        await r.answer("Second?")

    assert "Let me look. Hm. It is black. So." == next(iter(r.voice.spoken.values()))
    assert [("visitor", "First?"), ("agent", "It is black.")] == remembered(driver)


@virtually
async def test_two_messages_at_once_are_remembered_as_they_were_said() -> None:
    """RFC-021 §10.15. The delivered prefix is that of the deltas in their order."""
    a, b = (lambda text, final=False, name=name: AssistantOutput(name, text, final=final) for name in "ab")
    driver = Script(a("A one. "), b("B one. "), a("A two. ", final=True), b("B two. ", final=True))
    async with room(guide=driver) as r:
        await r.answer("First?")
        await asyncio.sleep(0.75)
        await r.answer("Second?")
        spoken = next(iter(r.voice.spoken.values()))

    assert "A one. B one. ".startswith(spoken)
    assert spoken.startswith("A one. B")
    assert ("agent", spoken.rstrip()) == remembered(driver)[1]


@virtually
async def test_channels_share_no_memory() -> None:
    """RFC-021 §10.15. A private thread stays on its channel."""
    driver = Script(says("Noted."))
    async with room(guide=driver) as r:
        await r.answer(r.ask("My secret", channel="phone", disclosure=among(["ana"])))
        await r.answer(r.ask("In the hall"))
        await r.answer(r.ask("Again", channel="phone", disclosure=among(["ana"])))

    assert [[], [("visitor", "My secret")]] == [remembered(driver, 1), remembered(driver, 2)]


@virtually
async def test_what_was_private_is_no_memory_of_an_answer_for_more() -> None:
    """RFC-021 §10.15-16. A channel's name widens nothing: a wider answer could tell what a narrower one knew."""
    driver = Script(says("Noted."))
    async with room(guide=driver, surface=NOBODY) as r:
        await r.answer(r.ask("Between us", disclosure=among(["ana"])))
        await r.quiet()
        await r.answer(r.ask("For all", disclosure=ROOM))
        await r.quiet()
        await r.answer(r.ask("Between us again", disclosure=among(["ana"])))

    assert [] == remembered(driver, 1)
    whole = [("visitor", "Between us"), ("agent", "Noted."), ("visitor", "For all"), ("agent", "Noted.")]
    assert whole == remembered(driver, 2)


@virtually
async def test_fragments_that_were_joined_are_remembered_once() -> None:
    """D24. As the one question that they became, with all that was asked before."""
    driver = Script(InputRequested("q", "t"), later=((60,), (60,), (says("Old."),), (says("Yes."),)))
    append = InputPolicy("append")
    async with room(guide=driver) as r:
        asked = await r.answer("Tell me")
        tasks = [r.begin(r.ask("how old"))]
        await asyncio.sleep(1)
        tasks.append(r.begin(r.ask("is this", supersession=Supersession(asked.run_id, None, append))))
        await asyncio.sleep(1)
        (second,) = await r.store.load_open("hall")
        await r.answer(r.ask("vase?", supersession=Supersession(second.id, None, append)))
        await r.quiet()
        await r.answer("Really?")
        await asyncio.gather(*tasks)

    assert "how old is this vase?" == driver.contexts[3].input.text
    assert [("visitor", "Tell me")] == remembered(driver, 3)
    whole = [("visitor", "Tell me"), ("visitor", "how old is this vase?"), ("agent", "Old.")]
    assert whole == remembered(driver, 4)


@virtually
async def test_all_who_answered_one_input_are_remembered_after_it() -> None:
    """T5. And the present input is in nobody's memory."""
    guide, potter = Script(says("I say. ")), Script(says("And I. "))
    async with room(guide=guide, potter=potter) as r:
        both = ("guide", "potter")
        await r.runtime.handle_run_input(r.ask("First?", agents=both))
        await r.quiet()
        await r.runtime.handle_run_input(r.ask("Second?", agents=both))

    for driver in (guide, potter):
        assert [] == remembered(driver, 0)
        assert [("visitor", "First?"), ("agent", "I say."), ("agent", "And I.")] == remembered(driver, 1)


@virtually
async def test_what_an_agent_lived_through_elsewhere_is_added() -> None:
    """RFC-021 §10.15. By the product, for this run alone."""
    lived = MemoryItem("agent", "guide", "I mended a cup.", ("experience:1",))
    driver = Script(says("Yes."))
    async with room(guide=driver, hooks=Hooks(remember=lambda record: (lived,))) as r:
        await r.answer()

    assert (lived,) == driver.contexts[0].memory
