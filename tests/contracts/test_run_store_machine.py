"""Both stores side by side under any order of admission, events, cancellation, recovery, retries and stale writers."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from run_examples import BEN, a_record, admission, an_input, ends, going_on, ram_directory, step
from wayside.core.errors import WaysideError
from wayside.core.room.disclosure import ROOM
from wayside.core.runs.admission import SUPERSEDED, Admit, CancelFirst, Known, Situation, decide
from wayside.core.runs.events import InputRequested, RunCanceled, RunEvent
from wayside.core.runs.record import RunRecord, RunStatus, recovered, status_after
from wayside.core.runs.request import InputPolicy, RunRequest, Supersession, request_fingerprint
from wayside.ports.run_store import Admission, RunStore
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.stores.sqlite.runs import SqliteRunStore

CHANNELS = st.sampled_from(["visitor", "phone"])
AGENTS = st.sampled_from(["guide", "potter"])


class RunStoreMachine(RuleBasedStateMachine):
    """Carries every decision out on both stores and compares what they say."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = contextlib.ExitStack()
        self.runner = asyncio.Runner()
        self.memory = MemoryRunStore()
        self.file = self.runner.run(SqliteRunStore(self.folder.enter_context(ram_directory()) / "runs.db").open())
        self.number = 0
        self.records: list[RunRecord] = []  # every record ever seen, the stale ones too
        self.admissions: list[Admission] = []
        self.requests: list[tuple[RunRequest, str]] = []
        self.commits: list[tuple[Any, RunRecord]] = []

    def teardown(self) -> None:
        self.runner.run(self.file.delete())
        self.runner.close()
        self.folder.close()

    def both(self, call: Callable[[RunStore], Awaitable[Any]]) -> Any:
        """What both answer, or the code that both refuse with."""

        async def answers() -> list[Any]:
            said: list[Any] = []
            for store in (self.memory, self.file):
                try:
                    said.append(await call(store))
                except WaysideError as error:
                    said.append(error.code)
            return said

        memory, file = self.runner.run(answers())
        assert memory == file
        return memory

    def seen(self, record: Any) -> None:
        if isinstance(record, RunRecord):
            self.records.append(record)

    def admit(self, request: RunRequest, agent: str) -> None:
        """Ask, cancel what is to be cancelled, ask again: as the runtime does."""
        given = request.input
        for _ in range(2):
            index = self.both(lambda s: s.load_by_input("kiosk", given.channel, given.id, agent))
            found = self.both(lambda s: s.load_open("kiosk", given.channel, agent))
            named = self.load(request.supersession.run_id) if request.supersession else None
            try:
                decision = decide(
                    request,
                    Situation(
                        Known(index.fingerprint, index.run_id) if index else None, next(iter(found), None), named
                    ),
                    room="kiosk",
                    agent=agent,
                    visibility=ROOM,
                    new_run_id=f"r{self.number}",
                    budget_ms=1000,
                    now_ms=self.number,
                )
            except WaysideError:
                return
            if isinstance(decision, CancelFirst):
                self.commit(found[0], RunCanceled(SUPERSEDED))
                continue
            if isinstance(decision, Admit):
                self.write_down(admission(decision.record, decision.fingerprint, continued=decision.continued))
            else:
                assert self.load(decision.run_id) is not None
            return

    def load(self, run_id: str) -> RunRecord | None:
        found: RunRecord | None = self.both(lambda s: s.load(run_id))
        return found

    def write_down(self, made: Admission) -> Any:
        said = self.both(lambda s: s.admit(made))
        if said == made.record:
            self.admissions.append(made)
            self.seen(said)
        return said

    def commit(self, record: RunRecord, event: RunEvent) -> None:
        self.number += 1
        try:
            entry, after = step(record, event, f"e{self.number}")
        except WaysideError:
            return
        if self.both(lambda s: s.commit_event(entry, after)) is True:
            self.commits.append((entry, after))
            self.seen(after)

    @rule(channel=CHANNELS, agent=AGENTS, ben=st.booleans(), known=st.booleans())
    def ask(self, channel: str, agent: str, ben: bool, known: bool) -> None:
        self.number += 1
        changes = {"source": BEN} if ben else {}
        request = RunRequest(an_input(f"i{self.number}", channel=channel, **changes))
        if known and self.requests:
            request, agent = self.requests[self.number % len(self.requests)]
        self.requests.append((request, agent))
        self.admit(request, agent)

    @precondition(lambda self: self.records)
    @rule(data=st.data(), append=st.booleans())
    def supersede(self, data: st.DataObject, append: bool) -> None:
        old = data.draw(st.sampled_from(self.records))
        self.number += 1
        policy = InputPolicy("append", 20) if append else InputPolicy()
        given = an_input(f"i{self.number}", f"words {self.number}", channel=old.channel)
        request = RunRequest(given, supersession=Supersession(old.id, {"seed": self.number}, policy))
        self.requests.append((request, old.agent))
        self.admit(request, old.agent)

    @precondition(lambda self: self.records)
    @rule(data=st.data(), event=going_on | st.just(InputRequested("which", "token")) | ends, newest=st.booleans())
    def write(self, data: st.DataObject, event: RunEvent, newest: bool) -> None:
        """By the writer of any record that was ever seen; most of them are stale."""
        record = self.records[-1] if newest else data.draw(st.sampled_from(self.records))
        self.commit(record, event)

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def recover(self, data: st.DataObject) -> None:
        record = data.draw(st.sampled_from(self.records))
        if record.status is RunStatus.ACTIVE:
            again = recovered(record)
            if self.both(lambda s: s.save(again)):
                self.seen(again)

    @precondition(lambda self: self.commits)
    @rule(data=st.data(), changed=st.booleans())
    def write_again(self, data: st.DataObject, changed: bool) -> None:
        """D19. However old it is by now."""
        entry, after = data.draw(st.sampled_from(self.commits))
        if changed:
            entry = replace(entry, event=RunCanceled("another"))
        said = self.both(lambda s: s.commit_event(entry, after))

        assert said == ("run.event_mismatch" if changed else False)

    @precondition(lambda self: self.admissions)
    @rule(data=st.data(), mark=st.sampled_from(["", "other"]))
    def admit_again(self, data: st.DataObject, mark: str) -> None:
        """A retry straight at the store, past the decision."""
        old = data.draw(st.sampled_from(self.admissions))
        said = self.both(lambda s: s.admit(replace(old, fingerprint=mark or old.fingerprint)))

        assert said == ("run.input_mismatch" if mark else self.load(old.record.id))

    @rule(channel=CHANNELS, agent=AGENTS)
    def force(self, channel: str, agent: str) -> None:
        """An admission that nobody decided: the store alone holds the line."""
        self.number += 1
        given = an_input(f"i{self.number}", channel=channel)
        record = a_record(f"f{self.number}", channel=channel, agent=agent, input=given, root_input_id=given.id)
        taken = self.both(lambda s: s.load_open("kiosk", channel, agent))
        made = admission(record, request_fingerprint(RunRequest(given)))

        assert self.write_down(made) == ("run.open_exists" if taken else record)

    @invariant()
    def the_stores_agree_and_hold_together(self) -> None:
        """F7: one open run in a place. D1: sequences. D6: status. D12, D16: each transcript key once."""
        opened = self.both(lambda s: s.load_open("kiosk"))
        places = [(run.channel, run.agent) for run in opened]
        rows = [(row.channel, row.key) for row in self.both(lambda s: s.load_transcript("kiosk", limit=500))]

        assert len(places) == len(set(places))
        assert len(rows) == len(set(rows))
        for run in self.both(lambda s: s.load_runs(500)):
            entries = self.both(lambda s, run_id=run.id: s.load_events(run_id))
            assert [entry.sequence for entry in entries] == list(range(1, run.sequence + 1))
            if entries and entries[-1].attempt == run.attempt:
                assert run.status is status_after(entries)
            else:
                assert run.status is RunStatus.ACTIVE
            assert (run.channel, f"in:{run.root_input_id}") in rows


RunStoreMachine.TestCase.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestBothStoresAgree = RunStoreMachine.TestCase
