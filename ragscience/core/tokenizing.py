"""Text becomes terms: `tokenize` for the keyword index and its questions, `terms` to compare sentences.

`tokenize`: NFKC and case folding; words of any script; English stop words out; Snowball stems. Numbers keep their
decimals ("28.4"), a hyphenated name gives the whole and its parts ("GPT-3": gpt3, gpt, 3), a word broken at a line's
end is joined, an accented word also gives its bare form, and scripts without spaces give characters and pairs.

`terms` keeps what tells two sentences apart though it finds nothing ("not", "without", a variable named t).
"""

import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

TOKENIZER_VERSION = "2"
"""Increased when the same text gives other terms: an index of another version is rebuilt."""
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can cannot could did do does doing don done down during each either etc few for from
    further had has have having he her here hers herself him himself his how however i if in into is it its
    itself just ll let may me might more most must my myself neither no nor not now of off on once only or
    other our ours ourselves out over own re s same shall she should so some such t than that the their theirs
    them themselves then there therefore these they this those through thus to too under until up upon us ve
    very was we were what when where whether which while who whom whose why will with within without would yet
    you your yours yourself yourselves
    """.split()  # noqa: SIM905  # a list of 160 strings reads worse
)
_COMPARISON_STOP_WORDS = (
    STOP_WORDS
    - frozenset(
        """
        cannot neither no not without within yet now etc done don let ll re s t ve therefore
        herself himself myself ourselves themselves yourself yourselves
        """.split()  # noqa: SIM905  # as above
    )
) | {"else", "much", "per"}
_WORD_OR_NUMBER = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[’'][^\W\d_]+)?|[^\W_]+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:-[^\W_]++)++")
_BROKEN_WORD = re.compile(r"(\w)[-\u2010\u00ad][ \t]*[\r\n]+[ \t]*(\w)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ACRONYMS = re.compile(r"[bcdfghj-np-tv-z]{2,5}(?<!s)s|[bcdfghj-np-tv-z]{2}us")
"""Plurals that the stemmer leaves as they are: "lstms", "gpus"."""
_THOUSANDS_COMMA = re.compile(r"(?<=\d),\s?(?=\d{3}(?!\d))")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
# Vowel signs and points that \w leaves out, so that it would cut Hindi, Thai or vocalized Arabic words to pieces.
_POINTS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
_SIGNS = (
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b4d\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83"
    "\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    "\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
_WORD = rf"[\w{_POINTS}{_SIGNS}]+"
_PART = rf"{_WORD}(?:(?<=[0-9])[.,][0-9]+)*"
_PLAIN = r"[a-z]++(?=[ .,;:()\n])"  # what the next alternative would give as well, for most words in half the time
_UNIT = re.compile(rf"{_PLAIN}|{_PART}(?:[-\u2010\u2013]{_PART})*|(?<![\w.])\.[0-9]+")
_JOINT = re.compile("[-_\u2010\u2013]+")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_LINE_END = re.compile("([^\\W\\d_])[-\u00ad\u2010][ \t]*\r?\n[ \t]*(\\w)")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_POINT = re.compile(f"[{_POINTS}]")


def tokenize(text: str) -> list[str]:
    """The terms of `text` in its order, repeated as they are; empty where it has no words."""
    if "\n" in text:
        text = _LINE_END.sub(_mend, text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.replace("\u00ad", ""))
    units = _UNIT.findall(text.casefold())
    return list(chain.from_iterable(map(_terms, units)))


def is_unspaced(text: str) -> bool:
    """Whether any of it is in a script that puts no spaces between words, as Chinese, Japanese, Korean and Thai."""
    return not text.isascii() and bool(_UNSPACED.search(text))


def joined_lines(text: str) -> str:
    r"""`text` on one line: words that were hyphenated at a line's end are joined, blanks collapsed.

    The hyphen stays where the word before it has a digit or a capital at its end ("GPT-\n3"): it belongs to the name.
    """

    def join(broken: re.Match[str]) -> str:
        before, after = broken.groups()
        return before + ("" if before.islower() and after.islower() else "-") + after

    return " ".join(_BROKEN_WORD.sub(join, text).split())


def terms(text: str) -> list[str]:
    """The content words and numbers of `text`, in order, repeated as they are: case-folded (NFKC) Snowball stems.

    A compound gives its parts and itself without the hyphen ("pre-training": pre, train, pretrain), so that it is the
    same whether a line broke inside it or not.
    """
    folded = _folded(text)
    words = [w for w in _WORD_OR_NUMBER.findall(folded) if w not in _COMPARISON_STOP_WORDS]
    words += [compound.replace("-", "") for compound in _COMPOUND.findall(folded)]
    return [stem for word in words if (stem := _stem(word.replace("’", "'")))]


def numbers(text: str) -> frozenset[str]:
    """The numbers of `text`, thousands without commas ("200,000": 200000)."""
    return frozenset(_NUMBER.findall(_THOUSANDS_COMMA.sub("", _folded(text))))


def _folded(text: str) -> str:
    return joined_lines(unicodedata.normalize("NFKC", text).translate(_DASHES)).casefold()


def _mend(match: re.Match[str]) -> str:
    """Undo a break at a line's end: "atten-" and "tion" are one word, the hyphen of "GPT-" and "3" is its own."""
    before, after = match.groups()
    return f"{before}{after}" if after.islower() else f"{before}-{after}"


@lru_cache(maxsize=1 << 17)
def _terms(unit: str) -> tuple[str, ...]:
    """The terms of one run of letters, digits, marks and hyphens, case-folded."""
    if unit.isalpha() and unit.isascii():
        return () if unit in STOP_WORDS else (_stem(unit),)
    parts = [part for part in _JOINT.split(unit) if part]
    terms = [term for part in parts for term in _part_terms(part)]
    if len(parts) > 1 and any(character.isalpha() for character in unit):
        whole = "".join(parts)
        if not _UNSPACED.search(whole):
            terms[:0] = _spellings(whole)
    return tuple(terms)


def _part_terms(part: str) -> list[str]:
    if part in STOP_WORDS:
        return []
    if _THOUSANDS.fullmatch(part):
        part = part.replace(",", "")
    if part.startswith("."):
        part = f"0{part}"
    if is_unspaced(part):
        return _unspaced_terms(part)
    return _spellings(part)


def _spellings(word: str) -> list[str]:
    """The word's stem, and the stem without accents and points where that is another."""
    stems = [_stem(word)]
    if not word.isascii():
        bare = unicodedata.normalize("NFC", _POINT.sub("", unicodedata.normalize("NFD", word)))
        if bare and bare != word:
            stems.append(_stem(bare))
    return [stem for stem in dict.fromkeys(stems) if stem]


def _unspaced_terms(part: str) -> list[str]:
    """Each character and each pair of neighbours of the unspaced runs; what is between them as words."""
    terms: list[str] = []
    position = 0
    for match in _UNSPACED.finditer(part):
        if match.start() > position:
            terms += _spellings(part[position : match.start()])
        run = match.group()
        terms += list(run)
        terms += [run[index : index + 2] for index in range(len(run) - 1)]
        position = match.end()
    if position < len(part):
        terms += _spellings(part[position:])
    return terms


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


_stemming = threading.Lock()


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    if _ACRONYMS.fullmatch(word):
        return word[:-1]
    with _stemming:  # PyStemmer's objects serve one thread at a time
        return str(_stemmer().stemWord(word))


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things, "1 paper" or "1,200 papers"; `many` is `one` with an s where it is not given."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def some_of(names: Sequence[str], most: int = 3) -> str:
    """The first names and how many more there are: "a.pdf, b.pdf, c.pdf and 5 more"."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


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
_WORD_OF_QUESTION = re.compile(r"[^\W\d_]++")
_QUOTED = re.compile(r"[\"“”„«»][^\"“”„«»]{0,200}+[\"“”„«»]")


def language_of(question: str) -> str:
    """The language in English ("German"); empty for English and where it is not sure.

    An English question with names or a quoted title in another language is English.
    """
    text = _QUOTED.sub(" ", question)
    words = [word.casefold() for word in _WORD_OF_QUESTION.findall(text)]
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
