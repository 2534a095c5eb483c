"""Talk that is no question about an object: greetings, thanks, "again", danger. Read from folded words alone."""

# ruff: noqa: E501 - a pattern broken over lines hides what it matches
import re
from enum import StrEnum

from wayside.core.questions import fold, short


class Intent(StrEnum):
    """What a visitor does by speaking. Most values are keys of the pack's wordings."""

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
    STAFF = "staff"  # what only the museum's people know


def intent(question: str, language: str) -> Intent | None:
    """The intent of the whole utterance, or None when it seems to ask about an object."""
    text = fold(question)
    for kind, pattern in _INTENTS.get(short(language), ()):
        if pattern.search(text):
            return kind
    return None


def _compiled(rows: tuple[tuple[str, str], ...]) -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    return tuple((Intent(name), re.compile(pattern)) for name, pattern in rows)


_INTENTS = {
    "en": _compiled((
        ("danger", r"\b(?:kill|hurt|harm) (?:myself|me|himself|herself)\b|\bsuicid\w*|\bwant to die\b|\bend my life\b|\bi am lost\b|\bi m lost\b|\blost my (?:mum|mom|dad|mother|father|child|son|daughter|parents)\b|\bheart attack\b|\bcall (?:an ambulance|the police|a doctor)\b|\bemergency\b|\bsomeone (?:is |has )?(?:hurt|collapsed|fainted)\b|\b(?:is|s) (?:a|on) fire\b(?! ?(?:pot|vase|vessel))|\bbleeding\b|\bcan ?t breathe\b|\bcannot breathe\b|\bi feel (?:sick|ill|faint|unwell)\b|\bcan ?t find my (?:mum|mom|dad|mother|father|child|son|daughter|parents|wife|husband)\b"),
        ("abuse", r"\b(?:fuck|fucking|shit|bitch|bastard|asshole|idiot|stupid|moron|dumb|shut up)\b"),
        ("price", r"\b(?:price|worth|cost|costs|expensive|insured|insurance|valuable)\b|\bhow much (?:is|does|did|would|money)\b|\bbuy (?:it|this|one)\b|\bfor sale\b|\bsell\b|\bhow (?:do|can|could|would|to) (?:i |you |we |someone |one )?steal\b"),
        ("staff", r"\bwhat time (?:do|does|is|are|will|can)\b|\bwhen (?:do|does|is|will) (?:you|the museum|the gallery|the shop)\b.*\b(?:open|close|closing|shut)\b|\bopening (?:hours|times)\b|\b(?:toilets?|restrooms?|bathrooms?|lavator\w+|wi ?fi|cloakroom|lockers?|car park|parking)\b|\bwhere (?:is|are|s) the (?:exit|way out|cafe|shop|gift shop|restaurant|lift|elevator|stairs|entrance)\b|\b(?:tickets?|guided tours?)\b|\bwork(?:s|ing)? here\b|\bcan (?:dogs|pets|children|kids) (?:come|go)\b"),
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
    )),
    "es": _compiled((
        ("danger", r"\b(?:matarme|suicid\w*|quiero morir|hacerme dano|quitarme la vida)\b|\bestoy perdid[oa]\b|\bhe perdido a mi\b|\bambulancia\b|\bemergencia\b|\binfarto\b|\bno encuentro a mi\b|\bhay un (?:incendio|herido)\b|\bno puedo respirar\b|\bme encuentro mal\b|\bme siento mal\b|\bsangr(?:e|ando)\b(?=.*\b(?:tengo|estoy|sale)\b)|\bllame (?:a la policia|a un medico)\b"),
        ("abuse", r"\b(?:mierda|joder|puta|puto|idiota|imbecil|estupid[oa]|tont[oa]|gilipollas|callate|pendejo|cabron)\b"),
        ("price", r"\b(?:precio|cuesta|costo|vale dinero|valor|valios[oa]|caro|asegurad[oa])\b|\b(?:muy|tan|mas) cara\b|\bes cara$|\btiene seguro\b|\b(?:el|un) seguro\b|\bcuanto (?:vale|cuesta|costo|dinero)\b|\bcomprar\w*|\bvender\w*|\ben venta\b|\bcomo (?:puedo|podria|se puede|se podria|puedes|podemos|podriamos)\b.*\brobar\w*|\bcomo robar\w*"),
        ("staff", r"\ba que hora\b|\bque horario\b|\bhorarios?\b|\bcuando (?:abren|cierran|abre|cierra)\b|\b(?:banos?|aseos?|lavabos?|servicios|wi ?fi|guardarropa|taquillas?|aparcamiento)\b|\bdonde esta (?:la salida|la cafeteria|la tienda|el restaurante|el ascensor|la entrada)\b|\btrabaj\w+ aqui\b|\bdonde hay un\w* (?:restaurante|cafeteria|tienda|salida)\b|\bque hora es\b|\b(?:entradas?|visitas? guiadas?)\b(?! de la (?:tumba|cueva))"),
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
    )),
}  # fmt: skip
