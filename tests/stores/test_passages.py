import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wayside.core.content import Pack
from wayside.core.errors import WaysideError
from wayside.releases.read import read_pack
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index

POTTERY = Path(__file__).parents[2] / "assets" / "packs" / "pottery"


@pytest.fixture(scope="module")
def pack() -> Pack:
    found = read_pack(POTTERY).pack
    assert found is not None
    return found


@pytest.fixture(scope="module")
def index(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlitePassageIndex]:
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    build_index(path, pack.exhibits, pack.passages)
    opened = SqlitePassageIndex(path)
    yield opened
    opened.close()


def test_passage_is_found_by_its_words_and_covers_them(index: SqlitePassageIndex) -> None:
    best = index.search("who smashed the Portland vase", "en")[0]

    assert best.passage.id == "portland-vase#broken"
    assert best.coverage == 1.0


def test_accents_and_capitals_do_not_matter(index: SqlitePassageIndex) -> None:
    plain = [found.passage.id for found in index.search("quien rompio el vaso portland", "es")]

    assert plain == [found.passage.id for found in index.search("¿QUIÉN ROMPIÓ EL VASO PORTLAND?", "es")]


def test_search_stays_in_its_language_and_exhibit(index: SqlitePassageIndex) -> None:
    found = index.search("Aquiles y Áyax", "es", "exekias-amphora", 20)

    assert found
    assert {(f.passage.language, f.passage.exhibit) for f in found} == {("es", "exekias-amphora")}


def test_sources_come_with_the_passage(index: SqlitePassageIndex) -> None:
    best = index.search("who smashed the Portland vase", "en")[0]

    assert [source.id for source in best.passage.sources] == ["bm-portland", "walker-portland"]


@pytest.mark.parametrize(
    ("said", "language", "exhibit"),
    [
        ("tell me about the Lycurgus Cup", "en", "lycurgus-cup"),
        ("tell me about the licurgis cup", "en", "lycurgus-cup"),
        ("what is number three", "en", "francois-vase"),
        ("port land vase", "en", "portland-vase"),
        ("eggs zekias", "en", "exekias-amphora"),
        ("quién hizo el vaso de las gazelas", "es", "alhambra-gazelles"),
        ("el dos", "es", "portland-vase"),
    ],
)
def test_exhibits_are_named_also_when_misheard(
    index: SqlitePassageIndex, said: str, language: str, exhibit: str
) -> None:
    assert index.exhibits(said, language)[0].exhibit == exhibit


def test_question_that_names_nothing_names_no_exhibit(index: SqlitePassageIndex) -> None:
    assert index.exhibits("how old is it", "en") == ()


@pytest.mark.parametrize(
    "question",
    [
        '"',
        "NEAR(a b)",
        "text:vase",
        "vase*",
        "a AND OR NOT",
        "(((",
        "vase\x00vase",
        "'; DROP TABLE passage; --",
        "^vase",
    ],
)
def test_search_syntax_in_a_question_is_just_words(index: SqlitePassageIndex, question: str) -> None:
    assert isinstance(index.search(question, "en"), (list, tuple))
    assert index.search("who smashed the Portland vase", "en")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=200), st.sampled_from(["en", "es", "xx", "e'n"]), st.sampled_from([None, "portland-vase", "'"]))
def test_no_question_raises(index: SqlitePassageIndex, question: str, language: str, exhibit: str | None) -> None:
    assert all(
        0.0 <= found.coverage <= 1.0 and found.score >= 0.0 for found in index.search(question, language, exhibit)
    )
    assert all(0.0 < named.likeness <= 1.0 for named in index.exhibits(question, language))


def test_many_threads_search_at_once(index: SqlitePassageIndex) -> None:
    found: list[str] = []

    def ask() -> None:
        found.extend(index.search("who smashed the Portland vase", "en")[0].passage.id for _ in range(50))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == ["portland-vase#broken"] * 200


def test_search_takes_a_few_milliseconds_at_most(index: SqlitePassageIndex) -> None:
    times = []
    for _ in range(50):
        start = time.process_time()
        index.search("who has the better score, Ajax or Achilles", "en")
        index.exhibits("who has the better score, Ajax or Achilles", "en")
        times.append(time.process_time() - start)

    assert sorted(times)[25] < 0.005


def test_index_is_never_written(index: SqlitePassageIndex) -> None:
    with pytest.raises(Exception, match="readonly"):
        index._connection.execute("DELETE FROM passage")


def test_other_database_is_told_as_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"")
    with pytest.raises(WaysideError) as caught:
        SqlitePassageIndex(path)

    assert caught.value.code == "pack.corrupt"


def test_closing_twice_is_fine(pack: Pack, tmp_path: Path) -> None:
    build_index(
        tmp_path / "index.sqlite", pack.exhibits[:1], [p for p in pack.passages if p.exhibit == pack.exhibits[0].id]
    )
    index = SqlitePassageIndex(tmp_path / "index.sqlite")
    index.close()
    index.close()


@pytest.fixture(scope="module")
def shared(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlitePassageIndex]:
    """An index that holds a character's passages beside the guide's."""
    path = tmp_path_factory.mktemp("shared") / "index.sqlite"
    build_index(path, pack.exhibits, pack.passages, pack.agents)
    opened = SqlitePassageIndex(path)
    yield opened
    opened.close()


def test_each_agent_finds_its_own_passages_only(shared: SqlitePassageIndex) -> None:
    question = "who are Achilles and Ajax"
    guide = {found.passage.id.split("#")[0] for found in shared.search(question, "en", limit=40)}
    exekias = {found.passage.id.split("#")[0] for found in shared.search(question, "en", limit=40, agent="exekias")}

    assert "exekias" not in guide
    assert {"exekias"} == exekias


def test_a_character_changes_nothing_in_what_the_guide_finds(
    index: SqlitePassageIndex, shared: SqlitePassageIndex
) -> None:
    for question in ("who smashed the Portland vase", "how is the black made", "Achilles and Ajax"):
        assert index.search(question, "en", limit=20) == shared.search(question, "en", limit=20)
        assert index.exhibits(question, "en") == shared.exhibits(question, "en")


def test_words_a_curator_adds_to_a_passage_find_it(shared: SqlitePassageIndex) -> None:
    best = shared.search("apprentices", "en", agent="exekias")[0]

    assert "exekias#workshop" == best.passage.id
    assert 1.0 == best.coverage


def test_nobodys_passages_are_none(shared: SqlitePassageIndex) -> None:
    assert () == shared.search("black", "en", agent="'; DROP TABLE passage")
