"""Checks what is spoken: passages, their sources and lengths, and the questions that lead to them.

Exhibits and characters are written alike, so they are checked alike.
"""

from collections.abc import Sequence

from wayside.core.sentences import cut
from wayside.ports.passages import Found
from wayside.releases.exhibit_file import DraftPassage
from wayside.releases.located import Located
from wayside.releases.problems import Place, Problems

SUGGESTIONS = 3  # always on the screen
CHARS_PER_SECOND = 15.0  # unhurried speech, English and Spanish
LONG_ANSWER_S = 25.0  # a first answer takes 15–25 s
TOO_LONG_ANSWER_S = 90.0  # the longest stop of a tour
LONG_FIRST_SENTENCE = 90  # characters; the voice starts as soon as the first sentence is made
TOO_LONG_FIRST_SENTENCE = 140
FOUND = 24  # passages among which a suggested question's own must be
NEAR = 3  # … and should be


def check_languages(at: Located, path: tuple[str, ...], wanted: Sequence[str], problems: Problems) -> None:
    """Tell which of the pack's languages a mapping lacks; where no mapping stands, reading has told."""
    found = at.keys(*path)
    if found is None:
        return
    for language in wanted:
        if language not in found:
            wrong = f"has no {language}"
            problems.error(at.place(*path), wrong, f"add `{language}: …`, or take {language} out of `languages`")
    for language in found:
        if wanted and language not in wanted:
            wrong = f"{language} is not a language of this pack"
            problems.warn(at.place(*path, language), wrong, "add it to `languages`, or remove it")


def check_questions(at: Located, passages: Sequence[DraftPassage], problems: Problems) -> None:
    """The questions of a file lead to its own passages, and there are enough of them for the screen."""
    topics = [p.topic for p in passages]
    asked: set[str] = set()
    count = at.count("questions")
    for position in range(count or 0):
        passage, text = at.text("questions", position, "passage"), at.text("questions", position, "text")
        if passage and passage not in topics:
            wrong = f"there is no passage {passage} in this file"
            problems.error(at.place("questions", position, "passage"), wrong, f"use one of: {', '.join(topics)}")
        if text and text.casefold() in asked:
            problems.error(at.place("questions", position, "text"), "is asked twice", "keep one of the two")
        asked.add(text.casefold())
    if (count or 0) < SUGGESTIONS:
        wrong = f"suggests {count or 0} questions, but the screen shows {SUGGESTIONS}"
        problems.error(at.place("questions"), wrong, f"write at least {SUGGESTIONS}, each with its passage")


def check_passages(passages: Sequence[DraftPassage], sources: frozenset[str] | None, problems: Problems) -> None:
    """Each topic once, with declared sources, and not longer than people listen."""
    first: dict[str, DraftPassage] = {}
    for passage in passages:
        before = first.setdefault(passage.topic, passage)
        if before is not passage:
            wrong = f"the topic {passage.topic} is there twice"
            problems.error(passage.at, wrong, f"join it with the one at line {before.at.line}, or name it differently")
        for source in passage.sources:
            if sources is not None and source not in sources:
                problems.error(passage.at, f"the source {source} is not declared", "add it to `sources` in pack.yaml")
        _length(passage, problems)


def check_agreement(
    place: Place, own: Sequence[DraftPassage], other: str, reference: Sequence[DraftPassage], problems: Problems
) -> None:
    """A translation has the topics of its reference, whose file is `other`, and imagines the same ones."""
    topics = {p.topic: p for p in reference}
    for topic in topics:
        if topic not in {p.topic for p in own}:
            wrong = f"has no passage {topic}, which {other} has"
            problems.error(Place(place.file, 0, topic), wrong, "translate it, or remove it there")
    for passage in own:
        same = topics.get(passage.topic)
        if same is None:
            wrong = f"the passage {passage.topic} is missing in {other}"
            problems.error(passage.at, wrong, "translate it there, or remove it here")
        elif same.imagined != passage.imagined:
            wrong = f"the passage {passage.topic} is imagined in one language only"
            problems.error(passage.at, wrong, f"write `imagined: yes` here and in {other}, or in neither")


def check_answered(passage: str, hits: Sequence[Found], place: Place, problems: Problems) -> None:
    """A suggested question finds its passage in the index."""
    # A question without content words ("How old is it?") is found by its topic, not by the index.
    found = [hit.passage.id for hit in hits]
    if found and passage not in found:
        problems.error(place, f"is not answered by {passage}", f"use words of that passage, or point it to {found[0]}")
    elif found and passage not in found[:NEAR]:
        wrong = f"finds {found[0]} and others before {passage}"
        problems.warn(place, wrong, "use words that stand in that passage alone")


def _length(passage: DraftPassage, problems: Problems) -> None:
    seconds = len(passage.text) / CHARS_PER_SECOND
    if seconds > TOO_LONG_ANSWER_S:
        wrong = f"takes about {seconds:.0f} s to say"
        problems.error(passage.text_at, wrong, f"cut it into passages of at most {LONG_ANSWER_S:.0f} s")
    elif seconds > LONG_ANSWER_S:
        wrong = f"takes about {seconds:.0f} s to say"
        remedy = f"visitors listen for {LONG_ANSWER_S:.0f} s; move the rest to a topic of its own"
        problems.warn(passage.text_at, wrong, remedy)
    sentences, _ = cut(passage.text, final=True)
    first_chars = len(sentences[0].strip()) if sentences else 0
    if first_chars > LONG_FIRST_SENTENCE:
        tell = problems.error if first_chars > TOO_LONG_FIRST_SENTENCE else problems.warn
        wrong = f"its first sentence is long ({first_chars} characters), so the voice starts late"
        tell(passage.text_at, wrong, f"answer in at most {LONG_FIRST_SENTENCE} characters, then go on")
