"""The words of a question: folded, stemmed and weighed. Light tables per language, no grammar and no dictionary.

What the tables miss, the passage search may still find; what they match wrongly, the evidence gate refuses. A language
without tables has no stop words and no stems, only words.
"""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """Lower case without accents, punctuation as spaces, single spaces."""
    # Compatibility forms have capitals of their own, and some capitals become a letter and a mark.
    lower = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).lower())
    bare = "".join(c for c in lower if not unicodedata.combining(c))
    return " ".join(_WORD.findall(bare))


def short(language: str) -> str:
    """The language without its region."""
    return language.split("-", 1)[0].lower()


def content_words(text: str, language: str) -> tuple[str, ...]:
    """Stems of the words that carry content: no stop words, no words that only ask, no words for any vessel."""
    skip = STOP.get(short(language), frozenset())
    words = (word for word in _joined(fold(text), language).split() if word not in skip and len(word) > 1)
    return tuple(dict.fromkeys(stem(word, language) for word in words))


def stems(text: str, language: str) -> tuple[str, ...]:
    """Stems of every word of a text, in order."""
    return tuple(stem(word, language) for word in _joined(fold(text), language).split())


def stem(word: str, language: str) -> str:
    """A light stem: enough to match plurals and verb forms. Everyday words for the same thing share one."""
    key = short(language)
    same = _SAME.get(key, {})
    if word in same:
        return same[word]
    for ending in _ENDINGS.get(key, ()):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            bare = word[: -len(ending)]
            doubled = key == "en" and bare[-1] == bare[-2] and bare[-1] not in "aeiousl"
            return bare[:-1] if doubled else bare
    return word


def shape(question: str, language: str) -> dict[str, float]:
    """A question's stems with weights, its asking words taken together ("how many"), for comparing questions."""
    text = fold(question)
    key = short(language)
    for asking in _ASKING.get(key, ()):
        text = re.sub(rf"\b{asking}\b", asking.replace(" ", ""), text)
    light = _LIGHT.get(key, frozenset())
    return {stem(word, language): 0.3 if word in light else 1.0 for word in text.split()}


def likeness(one: dict[str, float], other: dict[str, float]) -> float:
    """How much two shapes share, 0..1."""
    every = {**one, **other}
    shared = sum(weight for word, weight in every.items() if word in one and word in other)
    return shared / sum(every.values()) if every else 0.0


def points(question: str, language: str) -> bool:
    """True when a question means what stands in front of the visitor ("this", "those", "it")."""
    here = _HERE.get(short(language), frozenset())
    return any(word in here for word in fold(question).split())


def inquires(question: str, language: str) -> bool:
    """True when a question wants a reason, a way, a person, a place or a time: more than "tell me about …"."""
    wants = _INQUIRING.get(short(language))
    return wants is not None and wants.search(fold(question)) is not None


def label_number(question: str, language: str) -> str | None:
    """The label number a question names ("number three", "el 3"), or None."""
    key = short(language)
    text = fold(question)
    for pattern in _NUMBERED.get(key, ()):
        if match := pattern.search(text):
            word = match.group(1)
            return str(int(word)) if word.isdigit() else str(_NUMERALS[key].index(word) + 1)
    return None


def without_label(question: str, language: str) -> str:
    """The folded question without the label number it names."""
    text = fold(question)
    for pattern in _NUMBERED.get(short(language), ()):
        text = pattern.sub(" ", text)
    return " ".join(text.split())


def known_words(language: str) -> frozenset[str]:
    """Words that every question may be made of, whatever the pack."""
    key = short(language)
    return STOP.get(key, frozenset()) | frozenset(_SAME.get(key, {})) | frozenset(_NUMERALS.get(key, ()))


def _joined(text: str, language: str) -> str:
    """Folded text with phrases that mean one word written as that word."""
    for phrase, word in _PHRASES.get(short(language), ()):
        text = phrase.sub(word, text)
    return text


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _same(groups: dict[str, str]) -> dict[str, str]:
    # The digit keeps a group apart from stems: "wine" loses its e and must not win.
    return {form: f"{word}0" for word, forms in groups.items() for form in (word, *forms.split())}


_PHRASES: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "en": (
        (re.compile(r"\bg(?:ive|ave|iven|iving)(?: (?:it|them|this|that))? back\b"), "returned"),
        (re.compile(r"\b(?:fall|fell|tip|topple)s? over\b"), "stand"),
    ),
    "es": (
        (re.compile(r"\bcuantos anos\b"), "edad"),
        (re.compile(r"\b(?:otra cara|otro lado|parte de atras)\b"), "reverso"),
    ),
}
_ENDINGS: dict[str, tuple[str, ...]] = {
    "en": ("ings", "ing", "ies", "ers", "ed", "es", "er", "s", "e"),
    "es": (
        *("aciones", "acion", "aron", "ieron", "ados", "adas", "idos", "idas", "ando", "iendo", "aban", "aba"),
        *("ado", "ada", "ido", "ida", "os", "as", "es", "ar", "er", "ir", "an", "en", "o", "a", "e"),
    ),
}
# Irregular forms, and everyday words for the same thing.
_SAME: dict[str, dict[str, str]] = {}
_SAME["en"] = _same(
    {
        "broken": "break broke breaks smash smashed shattered damage damaged damages",
        "stolen": "steal stole thief thieves took taken robbed looted",
        "repair": "glue glued mend mended restored restore fix fixed",
        "winner": "win won wins winning score scores points ahead leading",
        "women": "woman lady ladies",
        "men": "man guy guys",
        "children": "child kid kids boy boys",
        "flame": "fire flames fires",
        "wing": "winged angel angels wings",
        "face": "faces portrait portraits",
        "write": "written wrote writing inscription inscriptions",
        "copy": "copied copies imitate imitated",
        "warrior": "soldier soldiers warriors army armies",
        "vine": "vines plant plants",
        "colour": "color colors colours",
        "figure": "figures people person",
        "game": "games chess checkers play plays played playing",
        "snake": "snakes serpent serpents",
        "dead": "died dies die death killed",
        "returned": "return returns",
        "stand": "stands stood standing",
    }
)
_SAME["es"] = _same(
    {
        "roto": "rompio rompieron rompe romper destrozo rota",
        "robado": "robo robaron robar ladron ladrones saqueo saquearon robada llevaron",
        "restaurado": "pego pegaron pegar reparo reparar repararon restauro restaurar restauraron reparacion",
        "gana": "ganar ganando gano ganador puntos",
        "mujer": "senora senoras mujeres dama",
        "hombre": "senor senores hombres",
        "fuego": "fuegos llamas flamigera",
        "ala": "alas alado alada alados aladas angel angeles",
        "rostro": "cara caras retratos retrato rostros",
        "escrito": "inscripcion inscripciones escribe escritura escrita pone",
        "guerrero": "soldado soldados guerreros ejercito ejercitos",
        "vid": "planta plantas vides",
        "juego": "juegos partida partidas ajedrez juega juegan jugar jugaban jugando",
        "figura": "figuras munecos muneco munequitos personas gente",
        "serpiente": "serpientes culebra",
        "muerto": "muerta murio muere muertos",
        "cocinar": "cocinaba cocinaban cocina",
        "atras": "detras",
        "sostiene": "sostener mantiene mantener cae caer caerse",
    }
)
_ASKING = {
    "en": ("how many", "how old", "how big", "how tall", "how much", "what year", "what for"),
    "es": ("para que", "por que", "de que", "a que", "de donde", "de quien"),
}
_LIGHT = {
    "en": _set(
        "a an the is are was were do does did it its this that these those they them of on in to at there have has"
    ),
    "es": _set("un una el la los las lo es son era fue se de del en al ese esa eso este esta esto esos esas y le su"),
}
_HERE = {
    "en": _set("this that these those it its they them he she his her here"),
    "es": _set("este esta esto estos estas ese esa eso esos esas aqui ahi lo"),
}
_INQUIRING = {
    "en": re.compile(r"\b(?:why|how|who|whose|where|when|did|does|is it|are they|was it)\b"),
    "es": re.compile(r"\b(?:por que|para que|como|quien(?:es)?|donde|cuando|cuant[oa]s?)\b"),
}
_NUMERALS = {
    "en": (
        *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
    ),
    "es": (
        *("uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"),
        *("trece", "catorce", "quince", "dieciseis", "diecisiete", "dieciocho", "diecinueve", "veinte"),
    ),
}
_EN = "|".join(reversed(_NUMERALS["en"]))
_ES = "|".join(reversed(_NUMERALS["es"]))
_NUMBERED = {
    "en": (
        re.compile(rf"\b(?:number|exhibit|label|no|object|piece)\s+(\d{{1,3}}|{_EN})\b"),
        re.compile(rf"^(?:the )?(\d{{1,3}}|{_EN})$"),
    ),
    "es": (
        re.compile(rf"\b(?:numero|pieza|etiqueta|vitrina|objeto)\s+(\d{{1,3}}|{_ES})\b"),
        re.compile(rf"^(?:el |la )?(\d{{1,3}}|{_ES})$"),
    ),
}
STOP = {
    "en": _set(
        "a an the every each always never because before after since until during without through against "
        "between talk speak information info interested this that these those it its is are was were be been "
        "being am do does did done have has had can could will would shall should may might must i me my we "
        "us our you your he him his she her they them their one ones and or but so if of in on at to from by "
        "for with about into over under up down out off as than then there here what which who whom whose "
        "when where why how please tell say know think want like just really very much many some any all more "
        "most other something anything thing things stuff explain describe show shows shown showing okay ok "
        "well um uh hey hi hello guide museum piece object exhibit item work art artwork vase vases vessel "
        "vessels pot pots pottery jar jars not no yes kind sort made make makes old find found called name "
        "get got go going come came used use look looks looking see let lets s re t m ll d ve actually "
        "exactly mean bowl jug cup bottle plate dish urn flask container beaker actual ever anyone anybody "
        "someone somebody also too again only even still exist exists true truth supposed meant while im "
        "whats hows whos wheres thats theyre gonna wanna "
    ),
    "es": _set(
        "un una asi cada siempre nunca antes despues durante hasta llamaban hablame hableme explicame "
        "expliqueme cuenta hablar informacion unos unas el la los las lo este esta esto estos estas ese esa "
        "eso esos esas aquel aquella es son era eran fue fueron ser estar estan estaba hay ha han he haber "
        "tiene tienen tenia puede puedo podria me mi te tu su sus se le les nos yo usted ustedes ellos ellas "
        "y e o u pero si de del en a al por para con sin sobre entre desde que quien quienes cual cuales "
        "cuando donde como cuanto cuanta cuantos cuantas porque favor dime digame cuentame cuenteme sabe "
        "sabes saber quiero algo cosa cosas mas muy mucho muchos algun alguna otro otra hola bueno guia museo "
        "pieza objeto obra arte vasija vasijas vaso vasos jarron jarrones no tipo hizo hace hacer hecho hecha "
        "antiguo antigua antiguedad encontro encontraron llama llamado llamaba llaman llamada nombre usaba "
        "sirve ver muestra explica explique describe vale oye gran realmente exactamente significa ahi aqui "
        "copa cuenco jarra jarro botella plato tinaja urna recipiente tambien alguien nadie vez solo aun "
        "todavia verdad cierto va ir voy vamos tan hacia "
    ),
}
