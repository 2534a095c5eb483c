"""What kind of fact a question asks for: the maker, the date, the use …, by the topics that curators' passages have.

Patterns are read on folded text. They only ever prefer a passage; without evidence no passage is spoken.
"""

# ruff: noqa: E501 - a pattern broken over lines hides what it matches
import re

from wayside.core.questions import fold, short, stems


def topics(question: str, language: str) -> tuple[str, ...]:
    """Topics the question may ask for, likeliest first."""
    text = fold(question)
    found = (topic for topic, pattern in _TOPICS.get(short(language), ()) if pattern.search(text))
    return tuple(dict.fromkeys(found))


def cues(language: str) -> frozenset[str]:
    """Stems of words that tell the topic or nothing at all; they need not stand in the passage."""
    return _CUES.get(short(language), frozenset())


def fillers(language: str) -> frozenset[str]:
    """Stems of words that tell nothing, whatever is asked."""
    return _FILL.get(short(language), frozenset())


def cue_words(language: str) -> frozenset[str]:
    """The same words as they are written."""
    return frozenset(f"{_WORDS.get(short(language), '')} {_FILLERS.get(short(language), '')}".split())


def tells(topic: str, text: str) -> bool:
    """Whether a passage gives a measure of this kind, whatever its topic is called."""
    return topic in MEASURES and MEASURES[topic].search(fold(text)) is not None


# What a passage about a measure names; without one, a question for the measure has no answer.
MEASURES = {
    "size": re.compile(r"\b(?:centimet|millimet|met(?:re|er|ro)s?\b|inch|feet\b|tall\b|de alto\b|de altura\b)"),
    "weight": re.compile(r"\b(?:kilo|gram(?:s|o|os|mes)?\b|pounds?\b|tonnes?\b|toneladas?\b)"),
}


def _compiled(rows: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in rows)


_MADE_EN = r"(?:made|make|paint(?:ed)?|create[d]?|craft(?:ed)?|built|build|produce[d]?|design(?:ed)?|threw|decorat\w+|draw|drew|sign(?:ed)?|did)"
_TOPICS = {
    "en": _compiled((
        ("weight", r"\bhow (?:heavy|light)\b|\bweigh(?:s|t)?\b"),
        ("size", r"\bhow (?:big|tall|high|large|wide)\b(?!.*\b(?:he|she|they)\b)|\bsize\b|\bheight\b"),
        ("maker", rf"\bwho(?:s| is| was| were)? (?:\w+ ){{0,2}}{_MADE_EN}\b|\bwho (?:{_MADE_EN})|\b(?:who|which|what|know|name of|name|named?)\b.{{0,24}}\b(?:artist|potter|painter|maker|carver|craftsm[ae]n)s?\b(?! (?:look|like|eat|wear|live))|^(?:the )?(?:artist|potter|painter|maker)s?$|\bby whom\b|\bwhose work\b|\bwho is it by\b"),
        ("date", r"\bhow old\b|\bhow many (?:years|centuries|decades)\b|^when (?:did|was|were|is|do)\b|\bcentur(?:y|ies)\b|\b(?:is|are) (?:it|this|that|they) (?:really |very |so )?(?:old|ancient)\b|\bwhen\b.*\b(?:made|from|painted|created|date|built|born)\b|\bwhat (?:year|century|period|date|age)\b|\bhow long ago\b|\bhow ancient\b|\bage of\b|\bwhen is (?:it|this)\b"),
        ("made", r"\bhow (?:was|were|is|are|did|do|does|could|can)\b.*\b(?:made|make|done|do|fired|painted|create|created|get|shaped|built)\b|\bmade (?:of|from|out)\b|\bmaterial|\btechnique|\bwhat (?:is|are|was|s) (?:it|this|that|they) made\b|\bkind of clay\b"),
        ("use", r"\bwhat (?:is|was|s|are|were)\b.*\bfor\b|\bused?\b|\bpurpose\b|\bfunction\b|\bwhat did\b.*\b(?:do|keep|put|store|drink|hold)\b|\bwhy (?:was|did)\b.*\bmade?\b|\b(?:inside|hold|contain|store|drink)\b"),
        ("found", r"\b(?:found|discover(?:ed)?|dug?|dig|unearth(?:ed)?|excavated?)\b|\b(?:where|who|when|how)\b.*\bf[io]u?nd\b|\b(?:which|what) (?:country|place)\b|\bwhere (?:does|did|do)\b.*\bcome\b|\bwhere (?:is|was|s|are)\b.*\bfrom\b"),
        ("today", r"\bwhere (?:is|are|s|can|could|do)\b.*\b(?:now|today|see|kept|real|original|live|lives)\b|\b(?:which|what) (?:museum|city)\b|\bwhere is (?:it|this|the (?:vase|pot|amphora|cup|vessel|real one|original))$|\bkept (?:now|today)\b|\bowns?\b|^is (?:it|this|the \w+) still\b"),
        ("scene", r"\bwhat (?:does|do|is|are|s)\b.*\b(?:show|showing|happening|depict|depicted|represent|doing|going on|picture|pictures|scene|painted on|drawn on)\b|\bwho (?:are|is|s|was|were) (?:the|those|these|that|this|on|in|he|she|they)\b|\bwhose (?:face|head|portrait)\b|\bscene\b|\bfigures\b|\b(?:what|which) (?:pictures?|scenes?|images?)\b|\bare there (?:any )?\w+ on\b|^(?:is|are) (?:that|those|this|these) (?:a |an |the |supposed to be |meant to be )|\b(?:supposed|meant) to be\b|\bwhat can (?:i|we|you) see\b"),
        ("look", r"\b(?:where|what) (?:should|do|can|could) (?:i|we) look\b|\blook (?:for|closely)\b"),
        ("detail", r"\b(?:where|what) (?:should|do|can|could) (?:i|we) look\b|\blook (?:for|closely)\b|\bdetails?\b"),
        ("story", r"\bstory\b|\bstories\b|\blegend\b|\bmyth\b|\bwhat happened\b|\bhistory\b"),
        ("scene", r"\bstor(?:y|ies)\b|\bmyth\b|\blegend\b"),
        ("name", r"\bwhy\b.*\b(?:called|name|named)\b|\bname\b|\bcalled\b"),
        ("name", r"^who (?:is|was|were) (?!this|that|these|those|he|she|they|it|the|winning)\w+(?: \w+)?$"),
        ("maker", r"^who (?:is|was|were) (?!this|that|these|those|he|she|they|it|the|winning)\w+(?: \w+)?$"),
        ("back", r"\bother side\b|\bback side\b|\b(?:on|round|at|in|behind|see) the back\b|\bbehind it\b|\breverse\b|\bround the back\b"),
        ("broken", r"\bbr[oe]ke?n?\b|\bsmash\w*|\bdamage\w*|\bshatter\w*"),
        ("repair", r"\brepair\w*|\brestor\w*|\bglue[d]?\b|\bput\b.*\btogether\b|\bmend\w*"),
        ("stolen", r"\bstolen\b|\bloot\w*|\btheft\b|\brobb\w+|\bsmuggl\w+"),
        ("what", r"\bwhat (?:is|s|are) (?:this|it|that|these|the)\b|\btell me\b|\babout (?:this|it|the)\b|\bdescribe\b|\bwhat am i\b|\bexplain\b|\bwhat kind\b|\bwhat type\b"),
    )),
    "es": _compiled((
        ("weight", r"\bcuanto pesan?\b|\bpesad[oa]s?\b|\bpesos?\b"),
        ("size", r"\b(?:que tan|como de) (?:grande|alto|alta)\b|\bcuanto mide\b|\baltura\b|\btamano\b|\bmide\b"),
        ("maker", r"\bquien(?:es)?\b.*\b(?:hizo|hicieron|pinto|pintaron|creo|fabrico|firmo|decoro|autor)\b|\b(?:quien(?:es)?|que|nombre|se llama\w*|conoce\w*|sabe\w*)\b.{0,24}\b(?:autora?|artistas?|alfarer\w+|ceramist\w+|pintor\w*)\b"),
        ("date", r"\b(?:cuantos|que) (?:anos|siglos|ano|siglo)\b|\bcuando\b|\bque (?:ano|siglo|epoca|fecha|edad|antiguedad)\b|\bhace cuanto\b|\bantigu[oa]\b|\bedad\b|\bvieja\b"),
        ("made", r"\bcomo (?:se|lo|la|los|las|fue|fueron|esta)\b.*\b(?:hizo|hace|hicieron|hecho|hecha|fabric\w+|pint\w+|elabor\w+|consig\w+|coc\w+)\b|\bde que (?:esta|material|es|estan)\b|\bmaterial\b|\btecnica\b|\bhech[oa]s? (?:de|con)\b"),
        ("use", r"\bpara que\b|\busa(?:ban|ba|ron|n)?\b|\bservia\b|\bsirve\b|\busaba\w*|\buso\b|\butilizaba\w*|\bfuncion\b|\bguardaba\w*|\bdentro\b|\bbebia\w*"),
        ("found", r"\b(?:encontr\w+|descubr\w+|hallo|hallaron|hallazgo|excav\w+|aparecio|desenterr\w+)\b|\bde donde (?:viene|es|procede|vino|son)\b"),
        ("today", r"\bdonde (?:esta|se encuentra|se guarda|puedo|podemos|se puede|se conserva|vive)\b.*\b(?:ahora|hoy|ver|verla|verlo|actualmente|original|conserva|guarda)\b|\bque museo\b|\ben que (?:museo|ciudad)\b|\bdonde (?:esta|se guarda|se conserva|se encuentra)(?: (?:hoy|ahora|esta|la (?:pieza|vasija|anfora|copa)|el (?:vaso|original|jarron)))*$|\bhoy en dia\b|\bsigue (?:en|estando)\b"),
        ("scene", r"\bde quien(?:es)? (?:es|son)\b|\bquien(?:es)? (?:es|son|era|eran) (?:el|la|los|las|ese|esa|este|esta|esos|esas|estos|estas)\b|^(?:eso|esto) (?:es|son)\b|\bque (?:muestra|representa|se ve|vemos|pasa|ocurre|hay (?:pintado|dibujado)|estan haciendo|hacen|aparece)\b|\bquien(?:es)? (?:son|es|aparecen|sale|salen)\b|\bescena\b|\bfiguras\b|\bdibujos?\b"),
        ("look", r"\ben que (?:me |nos )?fij\w+\b|\bque (?:debo|tengo que|hay que) mirar\b"),
        ("detail", r"\ben que (?:me |nos )?fij\w+\b|\bque (?:debo|tengo que|hay que) mirar\b|\bdetalles?\b"),
        ("story", r"\bhistoria\b|\bleyenda\b|\bmito\b|\bque paso\b|\bcuento\b"),
        ("scene", r"\bhistorias?\b|\bmito\b|\bleyenda\b"),
        ("name", r"\bpor que se llaman?\b|\bnombre\b|\bse llama\b"),
        ("name", r"^quien (?:es|era|fue) (?!el|la|ese|esa|este|esta)\w+(?: \w+)?$"),
        ("maker", r"^quien (?:es|era|fue) (?!el|la|ese|esa|este|esta)\w+(?: \w+)?$"),
        ("back", r"\botro lado\b|\bparte de atras\b|\botra cara\b|\breverso\b|\bdetras\b"),
        ("broken", r"\bromp\w+|\brot[oa]\b|\bdestroz\w+|\bdano\w*"),
        ("repair", r"\brepar\w+|\brestaur\w+|\bpeg(?:o|aron|ar)\b"),
        ("stolen", r"\brobad[oa]\b|\bsaque\w+|\brobo\b|\brobaron\b|\bexpoli\w+"),
        ("what", r"\bque es (?:esto|esta|este|eso|la|el|una?)\b|\bcuentame\b|\bcuenteme\b|\bhablame\b|\bhableme\b|\bdescrib\w+|\bque (?:tipo|clase)\b|\bexplica\w*"),
    )),
}  # fmt: skip


_WORDS = {
    "en": "artist artists potter potters painter painters maker makers author craftsman painted paint create created craft built build produce design "
    "sign decorate year years century centuries decades period date age long ago ancient technique material clay fired purpose function "
    "store hold contain inside drink keep put discovered dig dug unearth excavate real original live lives city "
    "country kept own owner happening depict represent picture pictures doing scene figure figures men women man "
    "woman story legend myth happened history big tall high large wide size height side back behind "
    "reverse today now first time day place come from originally special famous important interesting fall bits bit "
    "better little two three both round lot give",
    "es": "artista alfarero alfarera pintor pintora autor autora ceramista pinto pintaron creo fabrico firmo decoro "
    "ano anos siglo siglos epoca fecha edad tiempo tecnica material barro arcilla funcion uso usaban utilizaba "
    "guardaba dentro bebia descubrio descubrieron hallo hallaron hallazgo excavo aparecio ciudad pais original "
    "ahora hoy actualmente conserva guarda representa aparece aparecen muestran pasa ocurre haciendo hacen escena figuras dibujo dibujos "
    "hombres mujeres hombre mujer historia leyenda mito paso cuento grande alto alta mide altura tamano lado "
    "reverso detras viene procede pintado pintada pintados pintaron primera vez sitio lugar famosa famoso "
    "importante especial dos tres ambos verdad tan pequeno pequena falta lleva",
}
# Words that tell nothing, whatever is asked.
_FILLERS = {
    "en": "better best little two three both round first bit bits lot day give given important famous interesting special paint painted drawn drawing picture pictures supposed",
    "es": "dos tres ambos tan pequeno pequena falta lleva llevan vez importante famosa famoso especial hoy primera primer pinta pintado pintada pintados pintadas dibujo dibujos",
}
_CUES = {language: frozenset(stems(words, language)) for language, words in _WORDS.items()}
_FILL = {language: frozenset(stems(words, language)) for language, words in _FILLERS.items()}
