"""The pack's full-text index: passages by their words, exhibits by their names, however misheard.

One FTS5 table a language (porter stems for English, prefixes elsewhere) and a trigram lane over names. A question is
cut into words and quoted: whatever syntax it holds is just words.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wayside.core.content import Exhibit, Passage, Source
from wayside.core.errors import WaysideError
from wayside.core.questions import content_words, fold, label_number, stem, stems
from wayside.ports.passages import Found, Named

MAX_WORDS = 24
MAX_NAME_WORDS = 4
LIKENESS = 0.55  # Dice coefficient of trigrams from which a word counts as a misheard name
# Column weights: names, suggested questions, topic, text.
_WEIGHTS = "0, 0, 4.0, 3.0, 2.0, 1.0"


def build_index(target: Path, exhibits: Iterable[Exhibit], passages: Iterable[Passage]) -> None:
    """Write a new index file at `target`, which must not exist."""
    shown = {exhibit.id: exhibit for exhibit in exhibits}
    rows = list(passages)
    connection = sqlite3.connect(target)
    try:
        with connection:
            connection.execute(
                "CREATE TABLE passage (id TEXT, language TEXT, exhibit TEXT, json TEXT, PRIMARY KEY (id, language))"
            )
            connection.execute("CREATE TABLE name (language TEXT, exhibit TEXT, name TEXT, folded TEXT, number TEXT)")
            for language in sorted({row.language for row in rows}):
                stemmer = "porter " if language.startswith("en") else ""
                connection.execute(
                    f"CREATE VIRTUAL TABLE {_table(language)} USING fts5(id UNINDEXED, exhibit UNINDEXED, names, questions,"
                    f' topic, text, tokenize="{stemmer}unicode61 remove_diacritics 2")'
                )
            for row in rows:
                _insert(connection, row, shown[row.exhibit])
            for exhibit in shown.values():
                for language, title in exhibit.title.items():
                    for name in (title, *exhibit.aliases.get(language, ())):
                        record = (language, exhibit.id, name, fold(name), exhibit.number)
                        connection.execute("INSERT INTO name VALUES (?, ?, ?, ?, ?)", record)
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class _Name:
    """One name of an exhibit; `distinct` are its words that name nothing else in the pack."""

    exhibit: str
    folded: str
    number: str
    distinct: tuple[str, ...]


class SqlitePassageIndex:
    """Read-only search; callable from any thread, one question at a time."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise WaysideError(
                "pack.missing", f"There is no index at {path}.", remedy="Build the pack: `wayside pack build`."
            )
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        try:
            tables = self._connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'words_*'").fetchall()
            self._names = _names(self._connection)
        except sqlite3.DatabaseError:
            self._connection.close()
            raise WaysideError(
                "pack.corrupt", f"The index at {path} cannot be read.", remedy="Build the pack again."
            ) from None
        self._tables = {name for (name,) in tables}

    def search(self, question: str, language: str, exhibit: str | None = None, limit: int = 6) -> Sequence[Found]:
        """Passages that share content words with the question, best first."""
        table = _table(language)
        wanted = content_words(question, language)
        terms = _terms(question, language)
        if table not in self._tables or not terms:
            return ()
        only = "AND exhibit = ?" if exhibit is not None else ""
        sql = (
            f"SELECT p.json, -bm25({table}, {_WEIGHTS}) AS score, {table}.names, {table}.questions "  # noqa: S608 - our own names
            f"FROM {table} JOIN passage p ON p.id = {table}.id AND p.language = ? "
            f"WHERE {table} MATCH ? {only.replace('exhibit', f'{table}.exhibit')} ORDER BY score DESC LIMIT ?"
        )
        values = (language, " OR ".join(terms), *((exhibit,) if exhibit is not None else ()), limit)
        with self._lock:
            rows = self._connection.execute(sql, values).fetchall()
        found = []
        for text, score, names, questions in rows:
            passage = _passage(text)
            known = stems(f"{names} {questions} {passage.text}", language)
            covered = sum(1 for word in wanted if word in known) / len(wanted) if wanted else 0.0
            found.append(Found(passage, max(0.0, float(score)), covered))
        return found

    def exhibits(self, question: str, language: str) -> Sequence[Named]:
        """Exhibits the question names, best first."""
        best: dict[str, float] = {}
        number = label_number(question, language)
        words = fold(question).split()[:MAX_WORDS]
        padded = f" {' '.join(words)} "
        for entry in self._names.get(language, ()):
            likeness = 0.0
            if (number is not None and number == entry.number) or f" {entry.folded} " in padded:
                likeness = 1.0
            else:
                likeness = _likeness(words, entry)
            if likeness >= LIKENESS:
                best[entry.exhibit] = max(best.get(entry.exhibit, 0.0), likeness)
        return tuple(Named(e, v) for e, v in sorted(best.items(), key=lambda item: -item[1]))

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._connection.close()


def _insert(connection: sqlite3.Connection, row: Passage, exhibit: Exhibit) -> None:
    language = row.language
    names = " ".join((exhibit.title[language], *exhibit.aliases.get(language, ()), exhibit.subtitle.get(language, "")))
    asked = " ".join(q.text for q in exhibit.questions.get(language, ()) if q.passage == row.id)
    body = json.dumps(
        {
            "id": row.id,
            "exhibit": row.exhibit,
            "language": language,
            "topic": row.topic,
            "text": row.text,
            "sources": [{"id": s.id, "title": s.title, "where": s.where} for s in row.sources],
        }
    )
    connection.execute("INSERT INTO passage VALUES (?, ?, ?, ?)", (row.id, language, row.exhibit, body))
    connection.execute(
        f"INSERT INTO {_table(language)} VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 - a table of our own naming
        (row.id, row.exhibit, names, asked, row.topic, row.text),
    )


def _passage(text: str) -> Passage:
    row = json.loads(text)
    sources = tuple(Source(**source) for source in row.pop("sources"))
    return Passage(**row, sources=sources)


def _table(language: str) -> str:
    return "words_" + "".join(c for c in language.split("-", 1)[0].lower() if c.isalnum())


def _terms(question: str, language: str) -> list[str]:
    """The question's content words as quoted FTS5 terms; prefixes where no stemmer is built in."""
    short = language.split("-", 1)[0]
    wanted = set(content_words(question, short))
    kept = [w for w in dict.fromkeys(fold(question).split()) if stem(w, short) in wanted][:MAX_WORDS]
    if short == "en":
        return [f'"{word}"' for word in kept]
    return [f'"{word[: max(4, len(word) - 2)]}"*' if len(word) > 4 else f'"{word}"' for word in kept]


def _names(connection: sqlite3.Connection) -> Mapping[str, tuple[_Name, ...]]:
    rows = connection.execute("SELECT language, exhibit, folded, number FROM name").fetchall()
    owners: dict[tuple[str, str], set[str]] = {}
    for language, exhibit, folded, _ in rows:
        for word in folded.split():
            owners.setdefault((language, word), set()).add(exhibit)
    names: dict[str, list[_Name]] = {}
    for language, exhibit, folded, number in rows:
        content = set(content_words(folded, language))
        distinct = tuple(
            w
            for w in folded.split()
            if len(w) >= 4 and owners[language, w] == {exhibit} and stem(w, language) in content
        )
        names.setdefault(language, []).append(_Name(exhibit, folded, number, distinct))
    return {language: tuple(found) for language, found in names.items()}


def _likeness(words: Sequence[str], name: _Name) -> float:
    best = 0.0
    for word in name.distinct:
        for heard in words:
            if heard == word:
                best = max(best, 0.9)
            elif len(heard) >= 5 and len(word) >= 5:
                best = max(best, 0.9 * _dice(heard, word))
    span = len(name.folded.split())
    if 2 <= span <= MAX_NAME_WORDS:
        whole = name.folded.replace(" ", "")
        for at in range(max(0, len(words) - span + 1)):
            best = max(best, 0.95 * _dice("".join(words[at : at + span]), whole))
    return best


def _dice(one: str, other: str) -> float:
    a, b = _trigrams(one), _trigrams(other)
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def _trigrams(word: str) -> frozenset[str]:
    padded = f"  {word} "
    return frozenset(padded[n : n + 3] for n in range(len(padded) - 2))
