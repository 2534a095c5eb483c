"""A small sound pack, written into a folder; tests break it on purpose."""

from pathlib import Path

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">\n'
    '<defs><linearGradient id="g"/></defs>\n'
    '<path d="M0 0L9 9" fill="url(#g)"/>\n'
    "</svg>\n"
)
WORDINGS = (
    "greeting unknown who_are_you help thanks goodbye small_talk joke abuse repeat_nothing slower more no_more "
    "welcome_back too_long price danger still_there"
)
TEXTS = {
    "en": {
        "what": "This is a copper kettle from Whitby. It holds two litres of water.",
        "maker": "Ann Harker made the kettle. She worked as a coppersmith in Whitby.",
        "date": "The kettle is about ninety years old. It was made in nineteen thirty.",
    },
    "es": {
        "what": "Es una tetera de cobre de Whitby. Caben en ella dos litros de agua.",
        "maker": "Ann Harker hizo la tetera. Trabajaba el cobre en Whitby.",
        "date": "La tetera tiene unos noventa años. Se hizo en mil novecientos treinta.",
    },
}
HARKER = {
    "en": {
        "trade": ("What is your trade?", "sources: [ledger]", "I was a coppersmith in Whitby by trade."),
        "shop": ("Where was your shop?", "sources: [ledger], asked_with: [smithy]", "My shop stood by the harbour."),
        "dream": ("What did you dream of?", "imagined: yes", "I imagine that I dreamt of the sea."),
    },
    "es": {
        "trade": ("¿Cuál es su oficio?", "sources: [ledger]", "De oficio era calderera en Whitby."),
        "shop": ("¿Dónde estaba su tienda?", "sources: [ledger]", "Mi tienda estaba junto al puerto."),
        "dream": ("¿Con qué soñaba?", "imagined: yes", "Imagino que soñaba con el mar."),
    },
}
TITLES = {"en": "The Copper Kettle", "es": "La tetera de cobre"}


def write_pack(folder: Path) -> Path:
    """Two exhibits in two languages."""
    (folder / "exhibits").mkdir(parents=True)
    (folder / "media").mkdir()
    (folder / "pack.yaml").write_text(
        "id: kettles\n"
        "title: {en: Kettles, es: Teteras}\n"
        "institution: Kettle House\n"
        "languages: [en, es]\n"
        "licence: CC0\n"
        "notice: {en: You speak with an AI., es: Habla con una IA.}\n"
        "privacy: {en: Nothing is kept., es: No se guarda nada.}\n"
        "staff_help: {en: Please ask staff., es: Pregunte al personal.}\n"
        "sources:\n"
        "  ledger: {title: The ledger, where: Whitby}\n"
        "start_questions:\n"
        "  en:\n"
        '    - {text: "Who made the copper kettle?", passage: "copper-kettle#maker"}\n'
        '    - {text: "What is the copper kettle?", passage: "copper-kettle#what"}\n'
        '    - {text: "How old is the copper kettle?", passage: "copper-kettle#date"}\n'
        "  es:\n"
        '    - {text: "¿Quién hizo la tetera de cobre?", passage: "copper-kettle#maker"}\n'
        '    - {text: "¿Qué es la tetera de cobre?", passage: "copper-kettle#what"}\n'
        '    - {text: "¿De cuándo es la tetera de cobre?", passage: "copper-kettle#date"}\n',
        encoding="utf-8",
    )
    lines = [f"{key}:\n  en: [one {key}, two {key}]\n  es: [uno {key}, dos {key}]\n" for key in WORDINGS.split()]
    (folder / "wordings.yaml").write_text("".join(lines), encoding="utf-8")
    (folder / "questions.yaml").write_text(
        '- {text: "who made it", language: en, exhibit: copper-kettle, expect: "copper-kettle#maker"}\n'
        '- {text: "what does it weigh", language: en, exhibit: copper-kettle, expect: null}\n',
        encoding="utf-8",
    )
    write_exhibit(folder, "copper-kettle", "1", "en")
    write_exhibit(folder, "copper-kettle", "1", "es")
    return folder


def write_exhibit(folder: Path, name: str, number: str, language: str) -> Path:
    """One exhibit's file and its picture."""
    path = folder / "exhibits" / f"{name}.{language}.md"
    body = "\n".join(f"## {topic} {{sources: [ledger]}}\n{text}\n" for topic, text in TEXTS[language].items())
    path.write_text(
        "---\n"  # line 1
        f"id: {name}\n"
        f"number: {number}\n"
        f"language: {language}\n"
        f"title: {TITLES[language]}\n"
        "subtitle: Whitby, 1930\n"
        f"picture: {name}.svg\n"
        "alt: A round kettle\n"
        "aliases: [kettle, tetera]\n"
        "questions:\n"  # line 10
        '  - {text: "Who made it?", passage: maker}\n'
        '  - {text: "What is it?", passage: what}\n'
        '  - {text: "How old is it?", passage: date}\n'
        "---\n"  # line 14
        f"{body}",
        encoding="utf-8",
    )
    (folder / "media" / f"{name}.svg").write_text(SVG, encoding="utf-8")
    return path


def write_agents(folder: Path) -> Path:
    """The guide and one character."""
    place = folder / "agents"
    place.mkdir()
    for name in ("guide", "harker"):
        (folder / "media" / f"{name}.svg").write_text(SVG, encoding="utf-8")
        (place / f"{name}.yaml").write_text(
            f"id: {name}\n"  # line 1
            f"name: {{en: The {name}, es: El {name}}}\n"
            "description: {en: Speaks of kettles, es: Habla de teteras}\n"
            f"picture: {name}.svg\n"
            "alt: {en: A face, es: Una cara}\n"  # line 5
            "persona: Somebody.\n",
            encoding="utf-8",
        )
    with (place / "harker.yaml").open("a", encoding="utf-8") as file:
        file.write(
            "spellings: {en: [Ann Harker, harper], es: [Ann Harker]}\n"  # line 7
            "voice: {pitch: 2, pace: 0.9}\n"
            "home: [copper-kettle]\n"
            "performance: {en: Imagined, es: Imaginado}\n"  # line 10
            "wordings:\n"
        )
        for key in ("greeting", "who_are_you", "unknown", "help", "thanks", "goodbye"):
            file.write(f"  {key}: {{en: [own {key}], es: [propio {key}]}}\n")
    for language, texts in HARKER.items():
        asked = "".join(f'  - {{text: "{text}", passage: {topic}}}\n' for topic, (text, _, _) in texts.items())
        said = "".join(f"## {topic} {{{braces}}}\n{text}\n" for topic, (_, braces, text) in texts.items())
        (place / f"harker.{language}.md").write_text(
            f"---\nid: harker\nlanguage: {language}\nquestions:\n{asked}---\n{said}", encoding="utf-8"
        )
    return place


def replace(path: Path, old: str, new: str) -> None:
    """Change one place of a file; the place must exist."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
