"""What a question asks for, read from its words alone: intents, topics, and the words that carry its content.

Tables per language, no grammar: what they miss goes to the passage search, what they match wrongly is caught by the
evidence gate. A language without tables has no intents, only search.
"""

# ruff: noqa: E501 - a pattern broken over lines hides what it matches
import re
import unicodedata
from enum import StrEnum

_WORD = re.compile(r"[^\W_]+")


class Intent(StrEnum):
    """Talk that is not a question about an object; the values are keys of the pack's wordings."""

    GREETING = "greeting"
    REPEAT = "repeat"
    SLOWER = "slower"
    WHO_ARE_YOU = "who_are_you"
    HELP = "help"
    THANKS = "thanks"
    GOODBYE = "goodbye"
    JOKE = "joke"
    SMALL_TALK = "small_talk"
    ABUSE = "abuse"
    DANGER = "danger"
    PRICE = "price"
    MORE = "more"
    NO = "no"
    STOP = "stop"


def fold(text: str) -> str:
    """Lower case without accents, punctuation as spaces, single spaces."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return " ".join(_WORD.findall(bare))


def intent(question: str, language: str) -> Intent | None:
    """The intent of the whole utterance, or None when it seems to ask about an object."""
    text = fold(question)
    for kind, pattern in _INTENTS.get(language.split("-", 1)[0], ()):
        if pattern.search(text):
            return kind
    return None


def topics(question: str, language: str) -> tuple[str, ...]:
    """Topics the question may ask for, likeliest first."""
    text = fold(question)
    return tuple(topic for topic, pattern in _TOPICS.get(language.split("-", 1)[0], ()) if pattern.search(text))


def content_words(question: str, language: str) -> tuple[str, ...]:
    """Stems of the words that carry content: no stop words, no words that only ask, no words for any vessel."""
    short = language.split("-", 1)[0]
    skip = _STOP.get(short, frozenset())
    return tuple(dict.fromkeys(stem(w, short) for w in fold(question).split() if w not in skip and len(w) > 1))


def stems(text: str, language: str) -> frozenset[str]:
    """Stems of every word of a text."""
    short = language.split("-", 1)[0]
    return frozenset(stem(word, short) for word in fold(text).split())


def stem(word: str, language: str) -> str:
    """A light stem: enough to match plurals and verb forms, never a dictionary."""
    word = _SAME.get(language, {}).get(word, word)
    for ending in _ENDINGS.get(language, ()):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            bare = word[: -len(ending)]
            return bare[:-1] if language == "en" and bare[-1] == bare[-2] and bare[-1] not in "aeiousl" else bare
    return word


def label_number(question: str, language: str) -> str | None:
    """The label number a question names ("number three", "el 3"), or None."""
    short = language.split("-", 1)[0]
    text = fold(question)
    match = _NUMBERED[short].search(text) if short in _NUMBERED else None
    if match is None:
        return None
    word = match.group(1)
    return word if word.isdigit() else str(_NUMERALS[short].index(word) + 1)


# Irregular forms and everyday words for the same thing.
_SAME = {
    "en": {
        form: word
        for word, forms in {
            "broken": "break broke breaks smash smashed shattered",
            "stolen": "steal stole thief thieves took taken robbed looted",
            "repair": "glue glued mend mended restored restore fix fixed",
            "winner": "win won wins",
            "women": "woman lady ladies",
            "men": "man guy guys",
            "children": "child kid kids",
            "flame": "fire flames fires",
            "wing": "winged angel angels wings",
            "portrait": "face faces portraits",
            "write": "written wrote writing inscription inscriptions says",
            "copy": "copied copies imitate imitated",
            "warrior": "soldier soldiers warriors",
            "plant": "vine vines plants",
            "colour": "color colors colours",
        }.items()
        for form in forms.split()
    },
    "es": {
        form: word
        for word, forms in {
            "roto": "rompio rompieron rompe romper destrozo rota",
            "robado": "robo robaron robar ladron ladrones saqueo saquearon robada llevaron",
            "restauracion": "pego pegaron pegar reparo reparar repararon restauro restaurar restauraron",
            "gana": "ganar ganando gano ganador puntos",
            "mujer": "senora senoras mujeres dama",
            "hombre": "senor senores hombres",
            "llama": "fuego llamas fuegos",
            "ala": "alas alado alada alados aladas angel angeles",
            "retrato": "cara caras retratos rostro rostros",
            "escrito": "inscripcion inscripciones escribe escritura escrita pone",
            "guerrero": "soldado soldados guerreros",
            "planta": "plantas vid vides",
        }.items()
        for form in forms.split()
    },
}

_ENDINGS = {
    "en": ("ings", "ing", "ies", "ers", "ed", "es", "er", "s", "e"),
    "es": ("aciones", "acion", "aron", "ieron", "ados", "adas", "idos", "idas", "ado", "ada", "ido", "ida", "aban", "aba",
           "ando", "iendo", "os", "as", "es", "ar", "er", "ir", "an", "en", "o", "a", "e"),
}  # fmt: skip

_NUMERALS = {
    "en": [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ],
    "es": [
        "uno",
        "dos",
        "tres",
        "cuatro",
        "cinco",
        "seis",
        "siete",
        "ocho",
        "nueve",
        "diez",
        "once",
        "doce",
        "trece",
        "catorce",
        "quince",
        "dieciseis",
        "diecisiete",
        "dieciocho",
        "diecinueve",
        "veinte",
    ],
}
_NUMBERED = {
    "en": re.compile(rf"\b(?:number|exhibit|label|no)\s+(\d{{1,3}}|{'|'.join(reversed(_NUMERALS['en']))})\b"),
    "es": re.compile(
        rf"\b(?:(?:el |la )?numero|pieza|etiqueta|vitrina)\s+(\d{{1,3}}|{'|'.join(reversed(_NUMERALS['es']))})\b"
    ),
}

_STOP = {
    "en": frozenset(
        [
            "a",
            "an",
            "the",
            "this",
            "that",
            "these",
            "those",
            "it",
            "its",
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "being",
            "am",
            "do",
            "does",
            "did",
            "done",
            "have",
            "has",
            "had",
            "can",
            "could",
            "will",
            "would",
            "shall",
            "should",
            "may",
            "might",
            "must",
            "i",
            "me",
            "my",
            "we",
            "us",
            "our",
            "you",
            "your",
            "he",
            "him",
            "his",
            "she",
            "her",
            "they",
            "them",
            "their",
            "one",
            "ones",
            "and",
            "or",
            "but",
            "so",
            "if",
            "of",
            "in",
            "on",
            "at",
            "to",
            "from",
            "by",
            "for",
            "with",
            "about",
            "into",
            "over",
            "under",
            "up",
            "down",
            "out",
            "off",
            "as",
            "than",
            "then",
            "there",
            "here",
            "what",
            "which",
            "who",
            "whom",
            "whose",
            "when",
            "where",
            "why",
            "how",
            "please",
            "tell",
            "say",
            "know",
            "think",
            "want",
            "like",
            "just",
            "really",
            "very",
            "much",
            "many",
            "some",
            "any",
            "all",
            "more",
            "most",
            "other",
            "something",
            "anything",
            "thing",
            "things",
            "stuff",
            "explain",
            "describe",
            "show",
            "shows",
            "shown",
            "showing",
            "okay",
            "ok",
            "well",
            "um",
            "uh",
            "hey",
            "hi",
            "hello",
            "guide",
            "museum",
            "piece",
            "object",
            "exhibit",
            "item",
            "work",
            "art",
            "artwork",
            "vase",
            "vases",
            "vessel",
            "vessels",
            "pot",
            "pots",
            "pottery",
            "jar",
            "jars",
            "not",
            "no",
            "yes",
            "kind",
            "sort",
            "made",
            "make",
            "makes",
            "old",
            "find",
            "found",
            "called",
            "name",
            "get",
            "got",
            "go",
            "going",
            "come",
            "came",
            "used",
            "use",
            "look",
            "looks",
            "looking",
            "see",
            "let",
            "lets",
            "s",
            "re",
            "t",
            "m",
            "ll",
            "d",
            "ve",
            "actually",
            "exactly",
            "called",
            "mean",
            "s",
        ]
    ),
    "es": frozenset(
        [
            "un",
            "una",
            "unos",
            "unas",
            "el",
            "la",
            "los",
            "las",
            "lo",
            "este",
            "esta",
            "esto",
            "estos",
            "estas",
            "ese",
            "esa",
            "eso",
            "esos",
            "esas",
            "aquel",
            "aquella",
            "es",
            "son",
            "era",
            "eran",
            "fue",
            "fueron",
            "ser",
            "estar",
            "esta",
            "estan",
            "estaba",
            "hay",
            "ha",
            "han",
            "he",
            "haber",
            "tiene",
            "tienen",
            "tenia",
            "puede",
            "puedo",
            "podria",
            "me",
            "mi",
            "te",
            "tu",
            "su",
            "sus",
            "se",
            "le",
            "les",
            "nos",
            "yo",
            "usted",
            "ustedes",
            "ellos",
            "ellas",
            "y",
            "e",
            "o",
            "u",
            "pero",
            "si",
            "de",
            "del",
            "en",
            "a",
            "al",
            "por",
            "para",
            "con",
            "sin",
            "sobre",
            "entre",
            "desde",
            "que",
            "quien",
            "quienes",
            "cual",
            "cuales",
            "cuando",
            "donde",
            "como",
            "cuanto",
            "cuanta",
            "cuantos",
            "cuantas",
            "porque",
            "por",
            "favor",
            "dime",
            "digame",
            "cuentame",
            "cuenteme",
            "sabe",
            "sabes",
            "saber",
            "quiero",
            "algo",
            "cosa",
            "cosas",
            "mas",
            "muy",
            "mucho",
            "muchos",
            "algun",
            "alguna",
            "otro",
            "otra",
            "hola",
            "bueno",
            "guia",
            "museo",
            "pieza",
            "objeto",
            "obra",
            "arte",
            "vasija",
            "vasijas",
            "vaso",
            "vasos",
            "jarron",
            "jarrones",
            "no",
            "si",
            "tipo",
            "hizo",
            "hace",
            "hacer",
            "hecho",
            "hecha",
            "antiguo",
            "antigua",
            "antiguedad",
            "encontro",
            "encontraron",
            "llama",
            "llamado",
            "nombre",
            "usaba",
            "sirve",
            "ver",
            "muestra",
            "explica",
            "explique",
            "describe",
            "estan",
            "vale",
            "oye",
            "gran",
            "realmente",
            "exactamente",
            "significa",
            "ahi",
            "aqui",
        ]
    ),
}


def _compiled(rows: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in rows)


_MADE_EN = r"(?:made|make|paint(?:ed)?|create[d]?|craft(?:ed)?|built|build|produce[d]?|design(?:ed)?|threw|decorat\w+|draw|drew|sign(?:ed)?|did)"
_TOPICS = {
    "en": _compiled((
        ("size", r"\bhow (?:big|tall|high|large|wide|heavy)\b|\bsize\b|\bheight\b"),
        ("maker", rf"\bwho(?:s| is| was| were)? (?:\w+ ){{0,2}}{_MADE_EN}\b|\bwho (?:{_MADE_EN})|\bartist|\bpotter\b|\bpainter\b|\bmaker\b|\bby whom\b|\bwhose work\b|\bwho is it by\b"),
        ("date", r"\bhow old\b|\bwhen\b.*\b(?:made|from|painted|created|date|built|born)\b|\bwhat (?:year|century|period|date|age|time)\b|\bhow long ago\b|\bhow ancient\b|\bage of\b|\bwhen is (?:it|this)\b"),
        ("made", r"\bhow (?:was|were|is|are|did|do|does|could|can)\b.*\b(?:made|make|done|do|fired|painted|create|created|get|shaped|built)\b|\bmade (?:of|from|out)\b|\bmaterial|\btechnique|\bwhat (?:is|are|was|s) (?:it|this|that|they) made\b|\bkind of clay\b"),
        ("use", r"\bwhat (?:is|was|s|are|were)\b.*\bfor\b|\bused?\b|\bpurpose\b|\bfunction\b|\bwhat did\b.*\b(?:do|keep|put|store|drink|hold)\b|\bwhy (?:was|did)\b.*\bmade?\b|\b(?:inside|hold|contain|store|drink)\b"),
        ("found", r"\b(?:found|discovered?|dug?|dig|unearthed|excavated)\b|\bwhere (?:does|did|do)\b.*\bcome\b|\bwhere (?:is|was|s|are)\b.*\bfrom\b"),
        ("today", r"\bwhere (?:is|are|s|can|could|do)\b.*\b(?:now|today|see|kept|real|original|live|lives)\b|\b(?:which|what) (?:museum|city)\b|\bwhere is (?:it|this|the (?:vase|pot|amphora|cup|vessel|real one|original))$|\bkept (?:now|today)\b|\bowns?\b"),
        ("scene", r"\bwhat (?:does|do|is|are|s)\b.*\b(?:show|showing|happening|depict|depicted|represent|doing|going on|picture|pictures|scene|painted on|drawn on)\b|\bwho (?:are|is|s) (?:the|those|these|that|this|on|in)\b|\bscene\b|\bfigures\b|\bwhat can (?:i|we|you) see\b"),
        ("story", r"\bstory\b|\bstories\b|\blegend\b|\bmyth\b|\bwhat happened\b|\bhistory\b"),
        ("name", r"\bwhy\b.*\b(?:called|name|named)\b|\bname\b|\bcalled\b"),
        ("name", r"^who (?:is|was|were) \w+(?: \w+)?$"),
        ("maker", r"^who (?:is|was|were) \w+(?: \w+)?$"),
        ("back", r"\bother side\b|\bback side\b|\bthe back\b|\bbehind\b|\breverse\b"),
        ("broken", r"\bbr[oe]ke?n?\b|\bsmash\w*|\bdamage\w*|\bshatter\w*"),
        ("repair", r"\brepair\w*|\brestor\w*|\bglue[d]?\b|\bput\b.*\btogether\b|\bmend\w*"),
        ("stolen", r"\bstolen\b|\bloot\w*|\btheft\b|\brobb\w+|\bsmuggl\w+"),
        ("what", r"\bwhat (?:is|s|are) (?:this|it|that|these|the)\b|\btell me\b|\babout (?:this|it|the)\b|\bdescribe\b|\bwhat am i\b|\bexplain\b|\bwhat kind\b|\bwhat type\b"),
    )),
    "es": _compiled((
        ("size", r"\b(?:que tan|como de) (?:grande|alto|alta)\b|\bcuanto mide\b|\baltura\b|\btamano\b|\bmide\b"),
        ("maker", r"\bquien(?:es)?\b.*\b(?:hizo|hicieron|pinto|pintaron|creo|fabrico|firmo|decoro|autor)\b|\bautora?\b|\bartista\b|\balfarer\w+|\bceramist\w+|\bpintor\w*"),
        ("date", r"\bcuantos (?:anos|siglos)\b|\bcuando\b|\bque (?:ano|siglo|epoca|fecha|edad|antiguedad)\b|\bhace cuanto\b|\bantigu[oa]\b|\bedad\b|\bvieja\b"),
        ("made", r"\bcomo (?:se|lo|la|los|las|fue|fueron|esta)\b.*\b(?:hizo|hace|hicieron|hecho|hecha|fabric\w+|pint\w+|elabor\w+|consig\w+|coc\w+)\b|\bde que (?:esta|material|es|estan)\b|\bmaterial\b|\btecnica\b|\bhech[oa]s? (?:de|con)\b"),
        ("use", r"\bpara que\b|\bservia\b|\bsirve\b|\busaba\w*|\buso\b|\butilizaba\w*|\bfuncion\b|\bguardaba\w*|\bdentro\b|\bbebia\w*"),
        ("found", r"\b(?:encontr\w+|descubr\w+|hallo|hallaron|hallazgo|excav\w+|aparecio|desenterr\w+)\b|\bde donde (?:viene|es|procede|vino|son)\b"),
        ("today", r"\bdonde (?:esta|se encuentra|se guarda|puedo|podemos|se puede|se conserva|vive)\b.*\b(?:ahora|hoy|ver|verla|verlo|actualmente|original|conserva|guarda)\b|\bque museo\b|\ben que (?:museo|ciudad)\b|\bdonde (?:esta|se guarda|se conserva|se encuentra)(?: (?:hoy|ahora|esta|la (?:pieza|vasija|anfora|copa)|el (?:vaso|original|jarron)))*$|\bhoy en dia\b"),
        ("scene", r"\bque (?:muestra|representa|se ve|vemos|pasa|ocurre|hay (?:pintado|dibujado)|estan haciendo|hacen|aparece)\b|\bquien(?:es)? (?:son|es|aparecen|sale|salen)\b|\bescena\b|\bfiguras\b|\bdibujos?\b"),
        ("story", r"\bhistoria\b|\bleyenda\b|\bmito\b|\bque paso\b|\bcuento\b"),
        ("name", r"\bpor que se llama\b|\bnombre\b|\bse llama\b"),
        ("name", r"^quien (?:es|era|fue) \w+$"),
        ("maker", r"^quien (?:es|era|fue) \w+$"),
        ("back", r"\botro lado\b|\bparte de atras\b|\botra cara\b|\breverso\b|\bdetras\b"),
        ("broken", r"\bromp\w+|\brot[oa]\b|\bdestroz\w+|\bdano\w*"),
        ("repair", r"\brepar\w+|\brestaur\w+|\bpeg(?:o|aron|ar)\b"),
        ("stolen", r"\brobad[oa]\b|\bsaque\w+|\brobo\b|\brobaron\b|\bexpoli\w+"),
        ("what", r"\bque es (?:esto|esta|este|eso|la|el|una?)\b|\bcuentame\b|\bcuenteme\b|\bhablame\b|\bhableme\b|\bdescrib\w+|\bque (?:tipo|clase)\b|\bexplica\w*"),
    )),
}  # fmt: skip

_INTENTS = {
    "en": tuple((Intent(name), pattern) for name, pattern in _compiled((
        ("danger", r"\b(?:kill|hurt|harm) (?:myself|me|himself|herself)\b|\bsuicid\w*|\bwant to die\b|\bend my life\b|\bi am lost\b|\bi m lost\b|\blost my (?:mum|mom|dad|mother|father|child|son|daughter|parents)\b|\bheart attack\b|\bcall (?:an ambulance|the police|a doctor)\b|\bemergency\b|\bsomeone (?:is )?(?:hurt|collapsed)\b"),
        ("abuse", r"\b(?:fuck|fucking|shit|bitch|bastard|asshole|idiot|stupid|moron|dumb|shut up)\b"),
        ("price", r"\b(?:price|worth|cost|costs|expensive|insured|insurance|valuable)\b|\bhow much (?:is|does|did|would|money)\b|\bbuy (?:it|this|one)\b|\bfor sale\b|\bsell\b|\bhow (?:do|can|could|would|to) (?:i |you |we |someone |one )?steal\b"),
        ("stop", r"^(?:stop|quiet|be quiet|silence|enough|wait|stop it|stop talking|please stop|ok stop|stop please)$"),
        ("repeat", r"^(?:(?:can|could) you )?(?:please )?(?:repeat|say) (?:that|it|this)?(?: again)?(?: please)?$|^(?:again|once more|pardon|sorry|what|what did you say|come again|one more time)(?: please)?$|\bsay that again\b|\brepeat (?:that|it)\b"),
        ("slower", r"\b(?:slower|slow down|more slowly|too fast)\b"),
        ("who_are_you", r"\bwho (?:are|r) you\b|\bwhat are you\b|\bare you (?:a )?(?:real|human|robot|computer|person|machine|ai|alive)\b|\bwhat(?: i)?s your name\b|\bdo you have a name\b|\bwho made you\b|\bwho is speaking\b"),
        ("help", r"^(?:help|help me|i need help)\b|\bwhat can (?:i|we|you) (?:ask|do|say)\b|\bhow does this (?:work|thing work)\b|\bwhat should i (?:ask|do)\b|\bhow do i use\b"),
        ("joke", r"\bjoke\b|\bfunny\b|\bmake me laugh\b"),
        ("thanks", r"^(?:ok |okay )?(?:thanks|thank you|cheers|thank you very much|thanks a lot|great thanks)\b"),
        ("goodbye", r"^(?:ok |okay )?(?:goodbye|good bye|bye|bye bye|see you|farewell|that s all)\b"),
        ("small_talk", r"\bhow are you\b|\bare you (?:happy|bored|tired|ok)\b|\bnice to meet you\b|\bhow(?: i)?s it going\b|\bwhat(?: i)?s up\b|\bdo you (?:like|love) (?:me|it here|your job|this job)\b|\b(?:favou?rite)\b"),
        ("greeting", r"^(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)(?: there| guide| again)?$"),
        ("more", r"^(?:yes|yeah|yep|sure|please|yes please|ok|okay|go on|continue|more|more please|tell me more|carry on|keep going|what else|anything else|and|go ahead)(?: please)?$|\btell me more\b|\bwhat else\b|\bkeep going\b"),
        ("no", r"^(?:no|nope|no thanks|no thank you|not now|never mind|nothing)$"),
    ))),
    "es": tuple((Intent(name), pattern) for name, pattern in _compiled((
        ("danger", r"\b(?:matarme|suicid\w*|quiero morir|hacerme dano|quitarme la vida)\b|\bestoy perdid[oa]\b|\bhe perdido a mi\b|\bambulancia\b|\bemergencia\b|\binfarto\b|\bllame (?:a la policia|a un medico)\b"),
        ("abuse", r"\b(?:mierda|joder|puta|puto|idiota|imbecil|estupid[oa]|tont[oa]|gilipollas|callate|pendejo|cabron)\b"),
        ("price", r"\b(?:precio|cuesta|costo|vale dinero|valor|valios[oa]|caro|cara|asegurad[oa]|seguro)\b|\bcuanto (?:vale|cuesta|costo|dinero)\b|\bcomprar\w*|\bvender\w*|\ben venta\b|\bcomo (?:puedo|podria|se puede|robar)\b.*\brobar\w*|\bcomo robar\w*"),
        ("stop", r"^(?:para|pare|basta|silencio|alto|calla|espera|espere|para por favor|pare por favor|ya basta)$"),
        ("repeat", r"^(?:repite|repita|repitelo|repitalo|otra vez|de nuevo|una vez mas|como|perdon|que has dicho|que ha dicho)(?: por favor)?$|\brepet\w+|\brepit\w+|\bdilo otra vez\b|\bdigalo otra vez\b"),
        ("slower", r"\bmas (?:despacio|lento)\b|\bmuy rapido\b|\bdemasiado rapido\b"),
        ("who_are_you", r"\bquien eres\b|\bquien es usted\b|\bque eres\b|\bque es usted\b|\beres (?:un |una )?(?:robot|persona|humano|humana|maquina|real|ordenador|inteligencia)\b|\bcomo te llamas\b|\bcomo se llama usted\b|\bcual es tu nombre\b"),
        ("help", r"^(?:ayuda|ayudame|ayudeme|necesito ayuda)\b|\bque puedo (?:preguntar|hacer|decir)\b|\bcomo funciona (?:esto|este|esta)\b|\bque te puedo preguntar\b|\bque le puedo preguntar\b"),
        ("joke", r"\bchiste\b|\bbroma\b|\bhazme reir\b|\bgracios[oa]\b"),
        ("thanks", r"^(?:vale |ok )?(?:muchas )?gracias\b"),
        ("goodbye", r"^(?:vale |ok |bueno )?(?:adios|hasta luego|hasta pronto|chao|nos vemos|eso es todo)\b"),
        ("small_talk", r"\bcomo estas\b|\bcomo esta usted\b|\bque tal\b|\bencantad[oa]\b|\bestas (?:bien|feliz|aburrid[oa]|cansad[oa])\b|\bfavorit[oa]\b"),
        ("greeting", r"^(?:hola|buenas|buenos dias|buenas tardes|buenas noches|saludos)(?: guia| de nuevo)?$"),
        ("more", r"^(?:si|si por favor|claro|vale|ok|sigue|siga|continua|continue|mas|cuentame mas|cuenteme mas|adelante|y que mas|que mas|por favor|bueno)(?: por favor)?$|\bcuenta?me mas\b|\bcuenteme mas\b|\bque mas\b|\balgo mas\b"),
        ("no", r"^(?:no|no gracias|ahora no|nada|dejalo|dejelo)$"),
    ))),
}  # fmt: skip
