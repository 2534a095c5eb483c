"""A release as JSON: `pack.json` for the sidecar, `fallback/manifest.json` for the page; and back again."""

import hashlib
import json
from collections.abc import Mapping

from wayside.core.content import Agent, Exhibit, Pack, Passage, Source, SuggestedQuestion, VoiceStyle
from wayside.wire.pack import (
    SCHEMA,
    BuiltAgent,
    BuiltExhibit,
    BuiltPack,
    BuiltPassage,
    BuiltQuestion,
    BuiltSource,
    FallbackExhibit,
    FallbackManifest,
    FallbackPassage,
)

Speech = Mapping[tuple[str, str], str]  # (passage id, language) → file below `fallback/`


def release_id(pack: Pack, licence: str, files: Mapping[str, str]) -> str:
    """`<id>-<12 hex>`, made of the content alone: the same content has the same id wherever it is built."""
    content = {**_json(built_pack(pack, licence, "", files))}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return f"{pack.id}-{digest[:12]}"


def built_pack(pack: Pack, licence: str, release: str, files: Mapping[str, str]) -> BuiltPack:
    """The whole pack; `files` are the sha256 of the release's other files."""
    spoken = (*pack.passages, *(passage for agent in pack.agents for passage in agent.passages))
    used = {source.id: source for passage in spoken for source in passage.sources}
    return BuiltPack(
        schema=SCHEMA,
        id=pack.id,
        release=release,
        title=dict(pack.title),
        institution=pack.institution,
        licence=licence,
        languages=list(pack.languages),
        notice=dict(pack.notice),
        privacy=dict(pack.privacy),
        staff_help=dict(pack.staff_help),
        sources={name: BuiltSource(title=s.title, where=s.where) for name, s in sorted(used.items())},
        wordings={key: {lang: list(v) for lang, v in wording.items()} for key, wording in pack.wordings.items()},
        exhibits=[
            BuiltExhibit(
                id=e.id,
                number=e.number,
                title=dict(e.title),
                subtitle=dict(e.subtitle),
                picture=e.picture,
                alt=dict(e.alt),
                aliases={lang: list(v) for lang, v in e.aliases.items()},
                questions={lang: _questions(v) for lang, v in e.questions.items()},
            )
            for e in pack.exhibits
        ],
        passages=_passages(pack.passages),
        start_questions={lang: _questions(v) for lang, v in pack.start_questions.items()},
        agents=[
            BuiltAgent(
                id=a.id,
                name=dict(a.name),
                spellings={lang: list(v) for lang, v in a.spellings.items()},
                description=dict(a.description),
                persona=a.persona,
                pitch=a.voice.pitch_semitones,
                pace=a.voice.pace,
                wordings={key: {lang: list(v) for lang, v in wording.items()} for key, wording in a.wordings.items()},
                passages=_passages(a.passages),
                questions={lang: _questions(v) for lang, v in a.questions.items()},
                home=list(a.home),
                performance=dict(a.performance),
                picture=a.picture,
                alt=dict(a.alt),
            )
            for a in pack.agents
        ],
        files=dict(sorted(files.items())),
    )


def to_pack(built: BuiltPack) -> Pack:
    """The pack as the conversation sees it."""
    sources = {name: Source(name, s.title, s.where) for name, s in built.sources.items()}
    return Pack(
        id=built.id,
        release=built.release,
        title=built.title,
        institution=built.institution,
        languages=tuple(built.languages),
        notice=built.notice,
        privacy=built.privacy,
        staff_help=built.staff_help,
        wordings={key: {lang: tuple(v) for lang, v in wording.items()} for key, wording in built.wordings.items()},
        exhibits=tuple(
            Exhibit(
                id=e.id,
                number=e.number,
                title=e.title,
                subtitle=e.subtitle,
                picture=e.picture,
                alt=e.alt,
                questions={lang: _suggested(v) for lang, v in e.questions.items()},
                aliases={lang: tuple(v) for lang, v in e.aliases.items()},
            )
            for e in built.exhibits
        ),
        passages=_spoken(built.passages, sources),
        start_questions={lang: _suggested(v) for lang, v in built.start_questions.items()},
        agents=tuple(
            Agent(
                id=a.id,
                name=a.name,
                spellings={lang: tuple(v) for lang, v in a.spellings.items()},
                description=a.description,
                persona=a.persona,
                voice=VoiceStyle(a.pitch, a.pace),
                wordings={key: {lang: tuple(v) for lang, v in wording.items()} for key, wording in a.wordings.items()},
                passages=_spoken(a.passages, sources),
                questions={lang: _suggested(v) for lang, v in a.questions.items()},
                home=tuple(a.home),
                performance=a.performance,
                picture=a.picture,
                alt=a.alt,
            )
            for a in built.agents
        )
        or (Agent(),),
    )


def manifest(pack: Pack, release: str, speech: Speech) -> FallbackManifest:
    """What the page shows without any provider."""
    return FallbackManifest(
        schema=SCHEMA,
        release=release,
        languages=list(pack.languages),
        title=dict(pack.title),
        institution=pack.institution,
        notice=dict(pack.notice),
        privacy=dict(pack.privacy),
        staff_help=dict(pack.staff_help),
        exhibits=[
            FallbackExhibit(
                id=e.id,
                number=e.number,
                title=dict(e.title),
                subtitle=dict(e.subtitle),
                picture=f"media/{e.picture}",
                alt=dict(e.alt),
                passages={
                    language: [
                        FallbackPassage(
                            id=p.id,
                            text=p.text,
                            speech=speech.get((p.id, language)),
                            sources=[s.title for s in p.sources],
                        )
                        for p in pack.passages
                        if p.exhibit == e.id and p.language == language
                    ]
                    for language in pack.languages
                },
            )
            for e in pack.exhibits
        ],
    )


def to_json(model: BuiltPack | FallbackManifest) -> bytes:
    """UTF-8 JSON with sorted keys, so that the same content is the same file."""
    return (json.dumps(_json(model), ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode()


def _json(model: BuiltPack | FallbackManifest) -> dict[str, object]:
    return model.model_dump(mode="json", by_alias=True)


def _passages(passages: tuple[Passage, ...]) -> list[BuiltPassage]:
    return [
        BuiltPassage(
            id=p.id,
            exhibit=p.exhibit,
            language=p.language,
            topic=p.topic,
            text=p.text,
            sources=[s.id for s in p.sources],
            imagined=p.imagined,
            asked_with=list(p.asked_with),
        )
        for p in passages
    ]


def _spoken(built: list[BuiltPassage], sources: Mapping[str, Source]) -> tuple[Passage, ...]:
    return tuple(
        Passage(
            id=p.id,
            exhibit=p.exhibit,
            language=p.language,
            topic=p.topic,
            text=p.text,
            sources=tuple(sources[s] for s in p.sources),
            imagined=p.imagined,
            asked_with=tuple(p.asked_with),
        )
        for p in built
    )


def _questions(asked: tuple[SuggestedQuestion, ...]) -> list[BuiltQuestion]:
    return [BuiltQuestion(text=q.text, passage=q.passage) for q in asked]


def _suggested(asked: list[BuiltQuestion]) -> tuple[SuggestedQuestion, ...]:
    return tuple(SuggestedQuestion(q.text, q.passage) for q in asked)
