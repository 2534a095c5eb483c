"""The pack's full-text index: passages by their words, exhibits by their names, however misheard.

One FTS5 table for each agent and language, over stems (and porter on top for English), so that a character's words
neither answer for the guide nor change how rare the guide's are. A question is cut into words and quoted: whatever
syntax it holds is just words. Names are few, so their letter pairs are compared in memory.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from wayside.core.content import GUIDE, Agent, Exhibit, Passage, Source, SuggestedQuestion
from wayside.core.errors import WaysideError
from wayside.core.questions import content_words, fold, known_words, label_number, short, stems
from wayside.core.spelling import alike, pairs
from wayside.ports.passages import Found, Named

MAX_WORDS = 24
LIKENESS = 0.5  # of letter pairs, from which a word counts as a misheard name
_OWN_NAME = 0.95  # a word of the title, or an alias of one word
_PART_OF_NAME = 0.7  # a word out of a longer alias
_SHORTEST_NAME = 4
# Column weights: id, exhibit, names, suggested questions, topic, text.
_WEIGHTS = "0, 0, 3.0, 3.0, 2.0, 1.0"


def build_index(
    target: Path, exhibits: Iterable[Exhibit], passages: Iterable[Passage], agents: Iterable[Agent] = ()
) -> None:
    """Write a new index file at `target`, which must not exist."""
    shown = {exhibit.id: exhibit for exhibit in exhibits}
    rows = list(passages)
    connection = sqlite3.connect(target)
    try:
        with connection:
            connection.execute("CREATE TABLE passage (id TEXT, language TEXT, json TEXT, PRIMARY KEY (id, language))")
            connection.execute("CREATE TABLE name (language TEXT, exhibit TEXT, name TEXT, number TEXT, title INTEGER)")
            for language in sorted({row.language for row in rows}):
                _create(connection, GUIDE, language)
            for row in rows:
                _insert(connection, row, GUIDE, _called(shown[row.exhibit], row.language), shown[row.exhibit].questions)
            for exhibit in shown.values():
                for language, title in exhibit.title.items():
                    for name in (title, *exhibit.aliases.get(language, ())):
                        record = (language, exhibit.id, fold(name), exhibit.number, name == title)
                        connection.execute("INSERT INTO name VALUES (?, ?, ?, ?, ?)", record)
            for agent in agents:
                for language in sorted({row.language for row in agent.passages}):
                    _create(connection, agent.id, language)
                for row in agent.passages:
                    _insert(connection, row, agent.id, agent.name.get(row.language, ""), agent.questions)
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class _Names:
    """What exhibits are called in one language; `words` are those that name one exhibit only."""

    whole: tuple[tuple[str, str], ...]  # (" folded name ", exhibit)
    numbers: Mapping[str, str]  # label number → exhibit
    words: Mapping[str, tuple[str, float]]  # word → (exhibit, strength)
    pairs: Mapping[str, frozenset[str]]
    ordinary: frozenset[str]  # words that are never a misheard name


@dataclass(frozen=True, slots=True)
class _Row:
    passage: Passage
    agent: str
    stems: frozenset[str]


class SqlitePassageIndex:
    """Read-only search; callable from any thread. Closing twice is fine."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise WaysideError(
                "pack.missing", f"There is no index at {path}.", remedy="Build the pack: `wayside pack build`."
            )
        self._lock = threading.Lock()
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            self._rows = _read_rows(self._connection)
            self._names = _read_names(self._connection, self._rows)
            self._spoken = frozenset((row.agent, row.passage.language) for row in self._rows.values())
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError):
            self._connection.close()
            raise WaysideError(
                "pack.corrupt", f"The index at {path} cannot be read.", remedy="Build the pack again."
            ) from None

    def search(
        self, question: str, language: str, exhibit: str | None = None, limit: int = 6, *, agent: str = GUIDE
    ) -> Sequence[Found]:
        """Passages of the agent that share content words with the question, best first."""
        wanted = content_words(question, language)[:MAX_WORDS]
        if (agent, language) not in self._spoken or not wanted:
            return ()
        table = _table(agent, language)
        sql = (
            f"SELECT id, -bm25({table}, {_WEIGHTS}) AS score FROM {table} "  # noqa: S608 - a table of our own naming
            f"WHERE {table} MATCH ? AND (? IS NULL OR exhibit = ?) ORDER BY score DESC, rowid LIMIT ?"
        )
        terms = " OR ".join(f'"{word}"' for word in wanted)
        with self._lock:
            rows = self._connection.execute(sql, (terms, exhibit, exhibit, limit)).fetchall()
        found = []
        for name, score in rows:
            row = self._rows[name, language]
            covered = sum(1 for word in wanted if word in row.stems)
            found.append(Found(row.passage, max(0.0, float(score)), covered / len(wanted)))
        return found

    def exhibits(self, question: str, language: str) -> Sequence[Named]:
        """Exhibits the question names, best first."""
        names = self._names.get(language)
        if names is None:
            return ()
        best: dict[str, float] = {}

        def note(exhibit: str, likeness: float) -> None:
            if likeness >= LIKENESS:
                best[exhibit] = max(best.get(exhibit, 0.0), likeness)

        number = label_number(question, language)
        if number is not None and number in names.numbers:
            note(names.numbers[number], 1.0)
        words = fold(question).split()[:MAX_WORDS]
        padded = f" {' '.join(words)} "
        for whole, exhibit in names.whole:
            if whole in padded:
                note(exhibit, 1.0 if " " in whole.strip() else _OWN_NAME)
        for heard in (*words, *(one + other for one, other in pairwise(words))):
            if heard in names.words:
                note(*names.words[heard])
            elif len(heard) > _SHORTEST_NAME and heard not in names.ordinary:
                pieces = pairs(heard)
                for word, own in names.pairs.items():
                    exhibit, strength = names.words[word]
                    note(exhibit, strength * alike(pieces, own))
        return tuple(Named(exhibit, likeness) for exhibit, likeness in sorted(best.items(), key=lambda i: -i[1]))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def _create(connection: sqlite3.Connection, agent: str, language: str) -> None:
    stemmer = "porter " if short(language) == "en" else ""
    connection.execute(
        f"CREATE VIRTUAL TABLE {_table(agent, language)} USING fts5(id UNINDEXED, exhibit UNINDEXED, names,"
        f' questions, topic, text, tokenize="{stemmer}unicode61 remove_diacritics 2")'
    )


def _called(exhibit: Exhibit, language: str) -> str:
    return " ".join((exhibit.title[language], *exhibit.aliases.get(language, ()), exhibit.subtitle.get(language, "")))


def _insert(
    connection: sqlite3.Connection,
    row: Passage,
    agent: str,
    names: str,
    questions: Mapping[str, tuple[SuggestedQuestion, ...]],
) -> None:
    language = row.language
    asked = " ".join((*(q.text for q in questions.get(language, ()) if q.passage == row.id), *row.asked_with))
    body = {
        "id": row.id,
        "exhibit": row.exhibit,
        "language": language,
        "topic": row.topic,
        "text": row.text,
        "sources": [{"id": s.id, "title": s.title, "where": s.where} for s in row.sources],
        "imagined": row.imagined,
        "asked_with": row.asked_with,
        "agent": agent,
        "stems": sorted({*stems(names, language), *stems(asked, language), *stems(row.text, language)}),
    }
    connection.execute("INSERT INTO passage VALUES (?, ?, ?)", (row.id, language, json.dumps(body)))
    columns = (" ".join(stems(text, language)) for text in (names, asked, row.topic, row.text))
    connection.execute(
        f"INSERT INTO {_table(agent, language)} VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 - a table of our own naming
        (row.id, row.exhibit, *columns),
    )


def _read_rows(connection: sqlite3.Connection) -> Mapping[tuple[str, str], _Row]:
    rows = {}
    for name, language, text in connection.execute("SELECT id, language, json FROM passage"):
        body = json.loads(text)
        known = frozenset(body.pop("stems"))
        agent = body.pop("agent", GUIDE)
        sources = tuple(Source(**source) for source in body.pop("sources"))
        asked_with = tuple(body.pop("asked_with", ()))
        rows[name, language] = _Row(Passage(**body, sources=sources, asked_with=asked_with), agent, known)
    return rows


def _read_names(connection: sqlite3.Connection, rows: Mapping[tuple[str, str], _Row]) -> Mapping[str, _Names]:
    guided = [row.passage for row in rows.values() if row.agent == GUIDE]
    found: dict[str, list[tuple[str, str, str, bool]]] = {passage.language: [] for passage in guided}
    for language, exhibit, name, number, title in connection.execute("SELECT * FROM name"):
        found.setdefault(language, []).append((exhibit, name, number, bool(title)))
    spoken: dict[str, set[str]] = {}
    for passage in guided:
        spoken.setdefault(passage.language, set()).update(fold(passage.text).split())
    return {language: _names(names, language, spoken.get(language, set())) for language, names in found.items()}


def _names(names: Sequence[tuple[str, str, str, bool]], language: str, spoken: set[str]) -> _Names:
    owners: dict[str, set[str]] = {}
    for exhibit, name, _, _ in names:
        for word in name.split():
            owners.setdefault(word, set()).add(exhibit)
    words: dict[str, tuple[str, float]] = {}
    for exhibit, name, _, title in names:
        parts = name.split()
        strength = _OWN_NAME if title or len(parts) == 1 else _PART_OF_NAME
        for word in parts:
            distinct = len(word) >= _SHORTEST_NAME and len(owners[word]) == 1 and content_words(word, language)
            if distinct and words.get(word, ("", 0.0))[1] < strength:
                words[word] = (exhibit, strength)
    return _Names(
        whole=tuple((f" {name} ", exhibit) for exhibit, name, _, _ in names if name),
        numbers={number: exhibit for exhibit, _, number, _ in names},
        words=words,
        pairs={word: pairs(word) for word in words if len(word) > _SHORTEST_NAME},
        ordinary=frozenset(spoken | known_words(language)),
    )


def _table(agent: str, language: str) -> str:
    """The guide's tables are named as before there were characters, so that earlier builds stay readable."""
    parts = (language,) if agent == GUIDE else (language, agent)
    return "words_" + "__".join("".join(c if c.isascii() and c.isalnum() else "_" for c in p.lower()) for p in parts)
