"""Words that decide whether others are a name: particles and degrees in it, affiliations and places that are none."""

from __future__ import annotations

import re
import unicodedata

_COMBINING = {
    "´": "\u0301",
    "`": "\u0300",
    "¨": "\u0308",
    "ˆ": "\u0302",
    "˜": "\u0303",
    "ˇ": "\u030c",
    "˘": "\u0306",
    "˚": "\u030a",
    "˙": "\u0307",
    "˝": "\u030b",
    "¸": "\u0327",
    "˛": "\u0328",
}
"""Accents that stand beside their letter, as signs of their own, and the combining ones."""
_LOOSE = re.compile(rf"([^\W\d_]?)( ?)([{''.join(_COMBINING)}])(?=( ?)([^\W\d_]?))")
_APART = re.compile("(?<=[^\\W\\d_]) +([\u0300-\u0331])")
"""A combining accent that a blank parts from its letter."""
_USUAL = {"˜": "nN", "ˇ": "cdenrstzCDENRSTZ", "¸": "cCsStT", "˛": "aeAE"}
"""Letters on which an accent is usual; of others the vowels."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not decompose into an ASCII letter and a mark."""
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)


def plain_text(text: str) -> str:
    """The text in NFKC with accents on their letters, without invisible characters, and with single blanks."""
    if not text.isascii():
        text = _on_letters(_APART.sub(r"\1", text.replace("\u00ad", "")))
    elif "`" in text:
        text = _on_letters(text)
    return " ".join(_UNSEEN.sub(" ", unicodedata.normalize("NFKC", text)).split())


def plain_letters(text: str) -> str:
    """The text in lower case without accents: "lukasz uber" of "Łukasz Über"; other characters are kept."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _on_letters(text: str) -> str:
    """The text with each accent that stands beside a letter put on it."""
    done, at = "", 0
    for match in _LOOSE.finditer(text):
        if match.start(3) < at:
            continue
        _, gap, sign, after_gap, after = match.groups()
        done += text[at : match.start(3)]
        at = match.start(3)
        before = done[-1:] if not gap else ""
        onto = _letter_of(before, sign, "" if after_gap else after)
        if onto == "after":
            done = (done.removesuffix(" ") if gap and after.islower() else done) + _accented(after, sign)
            at = match.end() + 1
        elif onto == "before":
            done = done[:-1] + _accented(before, sign)
            at = match.end()
    return done + text[at:]


def _letter_of(before: str, sign: str, after: str) -> str:
    """The letter that an accent belongs to, "before" or "after" it; "" where it is a sign alone.

    TeX draws most accents before their letter ("Mu˜noz"), old fonts of publishers after it ("Mun˜oz"): it is the letter
    on which the accent is usual, where that decides nothing the one after it.
    """
    usual = _USUAL.get(sign, "aeiouyıAEIOUY")
    places = [("after", after), ("before", before)]
    if sign in "¸˛":  # which both draw after their letter
        places.reverse()
    fits = {name: (one in usual) + (one == "ı") for name, one in places if one and _accented(one, sign)}
    if sign == "`" and not before:
        return ""
    return max(fits, key=lambda place: fits[place], default="")


def _accented(letter: str, sign: str) -> str:
    """The letter with the accent on it as one character, or empty where there is no such character."""
    whole = unicodedata.normalize("NFC", ("i" if letter == "ı" else letter) + _COMBINING[sign])
    return whole if len(whole) == 1 else ""


PARTICLES = frozenset(
    """
    al bin da das de del della den der des di do dos du el ibn la las le los st ten ter van vom von y zu zum zur
    """.split()  # noqa: SIM905 - a list of so many would fill the page
)
GENERATIONS = frozenset(["jr", "sr", "ii", "iii", "iv"])
DEGREES = frozenset(
    """
    aaai acm bsc dphil drph dsc esq facc faha fellow frcp frcpath frs ieee mbbs md member mph mrcp msc phd scd senior
    siam student
    """.split()  # noqa: SIM905 - as above
)
"""Degrees and memberships printed after a name, without points."""
NO_NAMES = frozenset(
    """
    abstract academie academy accepted address affairs after against agency ai algorithms all an analysis and applied
    approach archive are article articles artificial as asia assistant associate association at author authors
    available ave avenue berkeley between beyond biology biomedical brain building bureau by california cambridge
    campus canada care cedex center centre centro chair chemistry china city clinic cloud college committee
    communicated communications community company computation computer computing conference contact contents copyright
    corp corporation correspondence corresponding council data deepmind demo departamento departement department dept
    design development division draft ecole edited editor editors electronics email engineering epidemiology equal
    escola escuela eth europe extended facebook facolta factor faculdade facultad faculty federal figure for foundation
    france from general genetics germany gmbh google government graduate group health high hochschule hogskola hospital
    how ibm impact in inc india indian informatica informatics information infrastructure innovation inria institut
    institute institutes institution instituto integrated integrative intelligence intelligent international into
    introduction investigation is issue istituto italy japan journal keywords klinik klinikum korea lab laboratoire
    laboratoires laboratories laboratory labs language learning letters library limited llc llp ltd machine management
    massachusetts materials mathematical mathematics medical medicine meta method methods microsoft ministry model
    models museum national nationale nature nazionale network networks neural normale notes nvidia of office on open
    openai optimization organization original oxford paper pennsylvania perspective physics planck politecnico
    polytechnic polytechnique preprint princeton proceedings process program project projects public published quality
    quantum received regional report reports research review revised road samsung school schools science sciences
    scientific search security senior service services singapore social society software solutions spain speech
    stanford state statistics street studies study submitted superieure supplementary surgery sweden switzerland system
    systems taiwan team technical technion technique techniques technische technologies technology tekniska texas the
    their theoretical theory thesis this to tokyo toward towards tutorial unit united universidad universidade
    universita universitaet universitat universite universities university unversity usa using vaccine version via
    vision volume washington web what when why with without work working workshop yale zentrum
    """.split()  # noqa: SIM905 - as above
)
"""Words of affiliations, banners and titles without accents, none of which is part of a name."""
PLACES = frozenset(
    " ".join(place.split())
    for place in """
    adobe|amazon|ann arbor|apple|argentina|australia|austria|baton rouge|belgium|bell laboratories|bell labs|brazil|
    buenos aires|cambridge|cape town|carnegie mellon|chapel hill|chile|college park|colombia|costa rica|croatia|
    czech republic|denmark|egypt|finland|fudan|georgia tech|google brain|great britain|greece|hewlett packard|
    hong kong|hungary|imperial college|intel|iran|ireland|israel|johns hopkins|kuala lumpur|la jolla|las vegas|
    los alamos|los altos|los angeles|malaysia|menlo park|mexico|morocco|mountain view|mozilla|netherlands|new delhi|
    new haven|new jersey|new mexico|new south wales|new york|new zealand|newcastle upon tyne|nigeria|north carolina|
    norway|notre dame|oracle|p r china|pakistan|palo alto|peking|peru|philippines|poland|portugal|pr china|
    puerto rico|redmond|rhode island|rio de janeiro|romania|russia|saint petersburg|salt lake|san diego|san francisco|
    san jose|san mateo|santa barbara|santa clara|santa cruz|santa fe|sao paulo|saudi arabia|serbia|simon fraser|
    slovakia|slovenia|south africa|south carolina|south korea|sri lanka|st louis|st petersburg|sun microsystems|
    tel aviv|texas instruments|thailand|tsinghua|tunisia|turkey|ukraine|vietnam|virginia tech|west lafayette|
    west virginia|xerox parc|yorktown heights|zhejiang
    """.split("|")  # noqa: SIM905 - as above
)
"""Places and houses (a selection), which read like names of people."""
