"""The language of a question, told by its script and its function words."""

from __future__ import annotations

import re

__all__ = ["FUNCTION_WORDS", "english_question_word", "language_of"]

_ENGLISH = frozenset(
    """
    what which who whom whose when where why how is are was were do does did has have had can could should would will
    the a an of to in on at by for from with and or not it its this that these those there they their be been being
    as than then into between about over under use used uses using many much show list compare explain summarize give
    """.split()  # noqa: SIM905  # a list of 90 strings reads worse
)
FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "German": """
            welche welcher welches welchen welchem wie was wer wen wem wessen wo wann warum wieso weshalb wozu womit
            woraus wofür worin der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine
            ist sind war waren wird werden wurde wurden worden hat haben hatte kann können soll sollen muss müssen
            von vom zum zur zu mit für auf aus bei beim nach über unter zwischen durch gegen ohne um im am an in als
            auch sich es sie er wir man viele vielen viel laut sowie beziehungsweise bzw gibt
        """,
        "French": """
            quel quelle quels quelles que qui quoi comment combien pourquoi quand où est sont était étaient été a ont
            être avoir fait font le la les un une des du de ou mais pas ne dans sur sous avec pour par entre
            selon au aux ce cette ces cet il elle ils elles on nous vous se sa son ses leur leurs plus quoi dont
            utilise utilisé utilisée utilisés d l qu n s t m c j lors
        """,
        "Spanish": """
            qué que cuál cuáles cuánto cuántos cuánta cuántas cómo cuándo dónde quién quiénes por para con sin sobre
            entre el la los las un una unos unas de del y o pero no en es son fue fueron era ser está están ha han
            se su sus lo este esta estos estas según usa utiliza cada
        """,
        "Italian": """
            quale quali cosa che chi come quanto quanti quanta quante quando dove perché il lo la i gli le un uno una
            di del dello della dei degli delle da dal dalla in nel nella nei con su sul sulla per tra fra e o ma non
            è sono era erano stato stata viene vengono ha hanno si suo sua questo questa usa
        """,
        "Portuguese": """
            qual quais que quem como quanto quantos quanta quantas quando onde porquê o a os as um uma uns umas de do
            da dos das em no na nos nas por para com sem sobre entre e ou mas não é são foi foram era ser está estão
            tem têm se seu sua este esta usa segundo
        """,
        "Dutch": """
            welke wat wie waar wanneer waarom hoe hoeveel de het een en of maar niet geen is zijn was waren wordt
            worden werd werden heeft hebben kan kunnen van voor met op uit bij naar over onder tussen door tegen
            zonder om als ook zich er deze dit die dat
        """,
    }.items()
}
"""Words that carry no subject; a question in the language has several of them."""
_QUESTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "German": "welche welcher welches welchen welchem wie wer wann warum wieso weshalb wozu womit",
        "French": "que quel quelle quels quelles comment combien pourquoi",
        "Spanish": "que qué cuál cuáles cuánto cuántos cuánta cuántas cómo cuándo dónde quién",
        "Italian": "quale quali quanto quanti quante perché",
        "Portuguese": "que qual quais quanto quantos quantas",
        "Dutch": "welke waarom hoe hoeveel wanneer",
    }.items()
}
"""A question that begins with one is in the language."""
_SURE = 0.3
"""Share of a question's words that are function words of its language, at least;"""
_FEWEST = 2
"""and how many of them English does not have."""
_MOSTLY = 0.6
"""In a short question one such word is enough, if the language has this share of its words."""
_IN_ENGLISH = (
    ("how many", "wie viele,wie viel,combien,cuántos,cuántas,cuánto,quanti,quante,quantos,quantas,hoeveel,多少,几个"),
    ("how large", "wie groß,wie hoch,多大,多高"),
    ("how long", "wie lange,多久,多长"),
    ("why", "warum,weshalb,wieso,pourquoi,por qué,perché,waarom,为什么"),
    ("when", "wann,quand,cuándo,quando,wanneer,什么时候,何时"),
    ("who", "wer ,wem ,qui ,quién,quem ,wie is,谁"),
)
_OF_NAMES = frozenset(
    """
    la le el les los de des di da van von der den die das du del della o a e y i et al in
    """.split()  # noqa: SIM905  # as above
)
"""Function words that are parts of names, too."""
_SCRIPTS = (
    ("Japanese", re.compile("[\u3040-\u30ff\u31f0-\u31ff]")),
    ("Korean", re.compile("[\u1100-\u11ff\uac00-\ud7ff]")),
    ("Chinese", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    ("Russian", re.compile("[\u0400-\u04ff]")),
    ("Arabic", re.compile("[\u0600-\u06ff]")),
    ("Hebrew", re.compile("[\u0590-\u05ff]")),
    ("Hindi", re.compile("[\u0900-\u097f]")),
    ("Thai", re.compile("[\u0e00-\u0e7f]")),
)
_FEWEST_LETTERS = 3
"""Of a script: fewer may be a name in an English question."""
_WORD = re.compile(r"[^\W\d_]++")
_QUOTED = re.compile(r"[\"“”„«»][^\"“”„«»]{0,200}+[\"“”„«»]")


def language_of(question: str) -> str:
    """The language in English ("German"); empty for English and where it is not sure.

    An English question with names or a quoted title in another language is English.
    """
    text = _QUOTED.sub(" ", question)
    words = [word.casefold() for word in _WORD.findall(text)]
    for language, script in _SCRIPTS:
        if len(script.findall(text)) >= _FEWEST_LETTERS and _ENGLISH.isdisjoint(words):
            return language
    own = {language: [word for word in words if word in known] for language, known in FUNCTION_WORDS.items()}
    language = max(own, key=lambda one: len(own[one]))
    shared, alone = len(own[language]), len({*own[language]} - _ENGLISH - _OF_NAMES)
    english = sum(word in _ENGLISH and word not in FUNCTION_WORDS[language] for word in words)
    if not words or shared <= 2 * english:
        return ""
    begins = not english and words[0] in _QUESTION_WORDS[language]
    is_short = not english and alone > 0 and shared >= _MOSTLY * len(words)
    is_long = alone >= _FEWEST and shared >= _SURE * len(words)
    return language if begins or is_short or is_long else ""


def english_question_word(question: str) -> str:
    """What a question in another language asks for in English, "how many"; empty where that is not one of a few."""
    folded = f"{question.casefold()} "
    return next((word for word, others in _IN_ENGLISH if any(other in folded for other in others.split(","))), "")
