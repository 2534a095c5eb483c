import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from releases.packs import replace, write_exhibit, write_pack
from wayside.ports.passages import Found
from wayside.releases.check import Report, check_pack
from wayside.releases.located import read_yaml
from wayside.releases.problems import Problems
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index

POTTERY = Path(__file__).parents[2] / "assets" / "packs" / "pottery"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "kettles")


def check(folder: Path) -> Report:
    return check_pack(folder, build_index, SqlitePassageIndex)


def told(report: Report) -> set[tuple[str, int, str]]:
    return {(p.file, p.line, p.field) for p in report.errors}


def test_sound_pack_has_no_errors_and_keeps_its_words(pack: Path) -> None:
    report = check(pack)

    assert report.errors == ()
    assert report.pack is not None
    assert report.pack.passages[1].text == "Ann Harker made the kettle. She worked as a coppersmith in Whitby."
    assert [case.expect for case in report.cases] == ["copper-kettle#maker", None]


def test_sample_pack_has_neither_errors_nor_warnings() -> None:
    assert str(check(POTTERY)) == ""


def test_all_errors_of_all_files_are_told_at_once_with_their_lines(pack: Path) -> None:
    english = pack / "exhibits" / "copper-kettle.en.md"
    replace(english, "title: The Copper Kettle\n", "")
    replace(english, "## date {sources: [ledger]}", "## date {sources: [ledgr]}")
    replace(pack / "exhibits" / "copper-kettle.es.md", "passage: date}", "passage: price}")
    replace(pack / "wordings.yaml", "danger:", "dangre:")
    replace(pack / "pack.yaml", "institution: Kettle House\n", "")
    replace(pack / "pack.yaml", "{en: You speak with an AI., es: Habla con una IA.}", "{en: [no]}")
    replace(pack / "questions.yaml", 'expect: "copper-kettle#maker"', "expect: copper-kettle")

    report = check(pack)

    assert report.pack is None
    assert told(report) >= {
        ("exhibits/copper-kettle.en.md", 2, "title"),
        ("exhibits/copper-kettle.en.md", 20, "date"),
        ("exhibits/copper-kettle.es.md", 13, "questions[3].passage"),
        ("wordings.yaml", 0, "danger"),
        ("pack.yaml", 1, "institution"),
        ("pack.yaml", 5, "notice.en"),
        ("questions.yaml", 1, "[1].expect"),
    }
    assert all(p.wrong and p.remedy for p in report.errors)


def test_problem_reads_as_one_line_with_its_remedy(pack: Path) -> None:
    replace(pack / "exhibits" / "copper-kettle.en.md", "picture: copper-kettle.svg", "picture: kettel.svg")

    assert (
        "exhibits/copper-kettle.en.md:7: picture: there is no media/kettel.svg → "
        "add the picture, or correct the name (capitals count)"
    ) in str(check(pack))


def test_exhibit_in_one_language_only_is_an_error(pack: Path) -> None:
    (pack / "exhibits" / "copper-kettle.es.md").unlink()

    assert "has no version in es → add `exhibits/copper-kettle.es.md`" in str(check(pack))


def test_same_id_in_two_files_is_an_error(pack: Path) -> None:
    replace(write_exhibit(pack, "tin-kettle", "2", "en"), "id: tin-kettle", "id: copper-kettle")

    assert "exhibits/tin-kettle.en.md:2: id: copper-kettle in en is there twice" in str(check(pack))


def test_same_label_number_twice_is_an_error(pack: Path) -> None:
    write_exhibit(pack, "tin-kettle", "1", "en")
    write_exhibit(pack, "tin-kettle", "1", "es")

    assert "exhibits/tin-kettle.en.md:3: number: number 1 is already that of copper-kettle" in str(check(pack))


def test_topic_twice_names_both_lines(pack: Path) -> None:
    replace(pack / "exhibits" / "copper-kettle.en.md", "## maker", "## what")

    assert "copper-kettle.en.md:18: what: the topic what is there twice → join it with the one at line 15" in str(
        check(pack)
    )


@pytest.mark.parametrize(
    ("words", "problem", "is_error"),
    [
        ("from Whitby " + "and from elsewhere " * 4, "its first sentence is long (112 characters)", False),
        ("from Whitby " + "and from elsewhere " * 6, "its first sentence is long (150 characters)", True),
        ("from Whitby. " + "It is round. " * 30, "takes about 30 s to say", False),
        ("from Whitby. " + "It is round. " * 105, "takes about 95 s to say", True),
    ],
)
def test_what_takes_long_to_say_is_a_warning_and_what_takes_too_long_an_error(
    pack: Path, words: str, problem: str, is_error: bool
) -> None:
    replace(pack / "exhibits" / "copper-kettle.en.md", "from Whitby.", f"{words.strip().removesuffix('.')}.")

    report = check(pack)
    told_as_errors, told_as_warnings = str(report.errors), str(report.warnings)

    assert problem in (told_as_errors if is_error else told_as_warnings)
    assert bool(report.errors) == is_error


def test_one_wrong_field_hides_no_other_problem_of_its_file(pack: Path) -> None:
    replace(pack / "pack.yaml", "institution: Kettle House\n", "")
    replace(pack / "pack.yaml", "en: You speak with an AI.", f"en: {'You speak with an AI. ' * 8}")
    replace(pack / "pack.yaml", 'passage: "copper-kettle#date"', 'passage: "copper-kettle#price"')
    replace(pack / "wordings.yaml", "en: [one help, two help]", "en: help")
    replace(pack / "wordings.yaml", "danger:", "dangre:")
    replace(pack / "questions.yaml", "language: en, ", "")
    replace(pack / "questions.yaml", "exhibit: copper-kettle, expect: null", "exhibit: tin-kettle, expect: null")
    english = pack / "exhibits" / "copper-kettle.en.md"
    replace(english, "title: The Copper Kettle", "title: ''")
    replace(english, "number: 1", "number: 2")
    replace(english, "passage: maker}", "passage: makers}")
    replace(english, "picture: copper-kettle.svg", "picture: kettle.svg")

    assert told(check(pack)) >= {
        ("pack.yaml", 1, "institution"),
        ("pack.yaml", 5, "notice.en"),
        ("pack.yaml", 14, "start_questions.en[3].passage"),
        ("wordings.yaml", 11, "help.en"),
        ("wordings.yaml", 0, "danger"),
        ("questions.yaml", 1, "[1].language"),
        ("questions.yaml", 2, "[2].exhibit"),
        ("exhibits/copper-kettle.en.md", 5, "title"),
        ("exhibits/copper-kettle.es.md", 3, "number"),
        ("exhibits/copper-kettle.en.md", 7, "picture"),
        ("exhibits/copper-kettle.en.md", 11, "questions[1].passage"),
    }


def test_question_that_finds_other_passages_first_is_a_warning(pack: Path) -> None:
    class LastOfFour(SqlitePassageIndex):
        def search(self, question: str, language: str, exhibit: str | None = None, limit: int = 6) -> list[Found]:
            found = super().search(question, language, exhibit, limit)
            return [replace_id(found[0], f"copper-kettle#{n}") for n in range(3)] + list(found) if found else []

    report = check_pack(pack, build_index, LastOfFour)

    assert report.errors == ()
    assert (
        "pack.yaml:13: start_questions.en[1].text: finds copper-kettle#0 and others before copper-kettle#maker"
        in str(report)
    )


def replace_id(found: Found, name: str) -> Found:
    return dataclasses.replace(found, passage=dataclasses.replace(found.passage, id=name))


def test_notice_is_one_line(pack: Path) -> None:
    replace(pack / "pack.yaml", "{en: You speak with an AI., es: Habla con una IA.}", '{en: "One.\\nTwo.", es: Una.}')

    assert "pack.yaml:6: notice.en: has more than one line" in str(check(pack))


def test_unknown_fields_are_warnings_with_the_known_ones(pack: Path) -> None:
    replace(pack / "exhibits" / "copper-kettle.en.md", "subtitle:", "gallery: 4\nsubtitle:")

    report = check(pack)

    assert report.errors == ()
    assert [(p.file, p.line, p.field) for p in report.warnings] == [("exhibits/copper-kettle.en.md", 6, "gallery")]


@pytest.mark.parametrize(
    ("drawing", "wrong"),
    [
        ("<script>x()</script>", "a.svg:2: script: has a <script> element"),
        ("<style>*{}</style>", "a.svg:2: style: has a <style> element"),
        ('<path onclick="x()"/>', "a.svg:2: path.onclick: runs a script"),
        ('<path style="fill:red"/>', "a.svg:2: path.style: has a style attribute"),
        ('<image href="http://example.org/a.png"/>', "a.svg:2: image.href: refers to something outside"),
        ('<path fill="url(http://example.org/a)"/>', "a.svg:2: path.fill: refers to something outside"),
        (
            '<use xmlns:x="http://www.w3.org/1999/xlink" x:href="b.svg#a"/>',
            "a.svg:2: use.href: refers to something outside",
        ),
        ('<path fill="u\\72l(http://example.org/a)"/>', "a.svg:2: path.fill: has a backslash"),
        ("<text>Kettle</text>", "a.svg:2: text: has a <text> element"),
        ("<animateTransform/>", "a.svg:2: animateTransform: has a <animateTransform> element"),
        ("<path/>" * 10_000, "a.svg: is too large (69 KiB) → make it no larger than 64 KiB"),
        ("<path", "a.svg:2: is not valid SVG"),
    ],
)
def test_drawings_hold_no_script_style_or_outside_reference(pack: Path, drawing: str, wrong: str) -> None:
    for language in ("en", "es"):
        replace(pack / "exhibits" / f"copper-kettle.{language}.md", "picture: copper-kettle.svg", "picture: a.svg")
    (pack / "media" / "a.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg">\n{drawing}</svg>', encoding="utf-8"
    )

    assert wrong in str(check(pack))


def test_drawing_that_cannot_be_read_is_an_error(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)

    assert "media/copper-kettle.svg: cannot be read" in str(check(pack))


def test_entities_are_refused_before_they_expand(pack: Path) -> None:
    drawing = '<!DOCTYPE svg [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>\n<svg xmlns="http://www.w3.org/2000/svg">&b;</svg>'
    (pack / "media" / "copper-kettle.svg").write_text(drawing, encoding="utf-8")

    assert "copper-kettle.svg:1: has a document type" in str(check(pack))


@pytest.mark.parametrize(
    ("text", "line", "wrong"),
    [
        ("a: 1\na: 2\n", 2, "is there twice"),
        ("a: &x 1\nb: *x\n", 2, "uses the anchor *x"),
        ("a: [1\nb: 2\n", 2, "is not valid YAML"),
        ("? [a]\n: 1\n", 1, "has a key that is not text"),
        ('a: 1\nb: "\\ud800"\n', 2, "has half of a character"),
    ],
)
def test_yaml_faults_are_told_with_their_line(text: str, line: int, wrong: str) -> None:
    problems = Problems()
    read_yaml(text, "a.yaml", problems)

    assert [(p.line, p.wrong[: len(wrong)]) for p in problems.errors] == [(line, wrong)]


def test_plain_values_stay_the_text_that_was_written() -> None:
    located = read_yaml("no: 007\nb: yes\nc: 2024-01-02\nd: ~\ne: 'null'\n", "a.yaml", Problems())

    assert located is not None
    assert located.value == {"no": "007", "b": "yes", "c": "2024-01-02", "d": None, "e": "null"}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_no_text_is_too_strange_for_the_reader(text: str) -> None:
    problems = Problems()

    assert (read_yaml(text, "a.yaml", problems) is None) == bool(
        [p for p in problems.errors if "twice" not in p.wrong and "key" not in p.wrong]
    )


def test_missing_folder_is_told_file_by_file(tmp_path: Path) -> None:
    assert {p.file for p in check(tmp_path / "nowhere").errors} >= {"pack.yaml", "wordings.yaml", "exhibits/"}


def test_file_that_is_not_utf_8_is_told_with_its_line(pack: Path) -> None:
    (pack / "wordings.yaml").write_bytes(b"greeting:\n  en: [caf\xe9]\n")

    assert ("wordings.yaml", 2, "") in told(check(pack))


@pytest.mark.parametrize("name", ["pack.yaml", "wordings.yaml", "questions.yaml", "exhibits/copper-kettle.en.md"])
@pytest.mark.parametrize("content", ["", "[]", "just words", "a: b", "- a", "---\n---\n## what\n"])
def test_wrong_shapes_are_problems_and_never_crashes(pack: Path, name: str, content: str) -> None:
    (pack / name).write_text(content, encoding="utf-8")

    assert any(p.file == name for p in check(pack).errors) or name == "questions.yaml"
