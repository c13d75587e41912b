"""A question about one of several things becomes a question that can stand alone: "they" and "differ" are gone."""

from __future__ import annotations

import re

__all__ = ["completed", "set_side_by_side", "worded"]

_AUXILIARY = r"(?:is|are|was|were|does|do|did|has|have|had|can|could|will)"
_FROM = re.compile(
    r"^how (?:do|does|did|is|are|was|were) (?P<one>.{1,80}?) (?:differ|different|distinguished|compared?)"
    r"(?: from| with| to) (?P<other>.{1,80}?)"
    r"(?P<rest>,? (?:in|on|when|while|with respect|regarding|in terms)\b.*)?$",
    re.IGNORECASE,
)
_AUXILIARY_ALONE = re.compile(_AUXILIARY, re.IGNORECASE)
_ASKED_AGAIN = re.compile(
    rf"^(?:(?:in|on|at|with|by|for|from|to|of) )?(?:what|which|how many|how much|how)(?: ones?)? "
    rf"(?={_AUXILIARY}\b(?! (?:that|those) of))",
    re.IGNORECASE,
)
_ASKED_FIRST = re.compile(rf"^(?P<asked>.{{1,80}}?) {_AUXILIARY}\b", re.IGNORECASE)
_OF_ANOTHER = re.compile(
    r"^(?:and |or |with |to )?(?:(?:what |which )?(?:is|are|was|were) )?"
    r"(?:that|those|the ones?|which(?: ones?)?|what|how|how many|how much)?\s*"
    r"(?P<of>(?:of|in|for|with|by|from|at|on) .+)$",
    re.IGNORECASE,
)
_BEFORE_PLACE = re.compile(
    r"^(?P<before>.*) (?:of|in|for|with|by|from|at|on)(?: the| an?)?(?: (?!and\b|or\b)[\w-]+){0,2}$"
)

_WHERE = r"(?:in|on|by|with respect to|with regard to|regarding|concerning|when it comes to|in terms of|as to)"
_LARGER = r"(?:more|less|fewer|better|worse|(?:\w{1,20}er)|(?:more|less) \w{1,20})"
_ATTRIBUTE = re.compile(rf"(?:^|[ ,])(?P<where>{_WHERE}) (?P<what>\S.*)", re.IGNORECASE)
"""What things differ in: "in weight decay"."""
_DIFFERENCE = re.compile(r"\b(?:differ(?:s|ences?)?|compares?|distinguish(?:es)?|contrast(?:ed|s)?)\b", re.IGNORECASE)
_ASKS = re.compile(r"[:;]|\b(?:what|which|who|how|why|when|where)\b", re.IGNORECASE)
_ASKS_HOW = re.compile(r"^(?:what|which|who|how|why|when|where)\b", re.IGNORECASE)
_THEY_ARE = re.compile(r"\bthey (are|were|have|had|can|will)\b", re.IGNORECASE)
_THEY_DO = re.compile(r"\bthey(?: do\b(?= \w+\b(?! with| in| to| for| about))| (?=\w))", re.IGNORECASE)
_WAY_THEY = re.compile(
    r"^(?:the )?ways? (?:in which |that |how )?they (?!are\b|were\b|have\b|do\b)(?=\w)", re.IGNORECASE
)
_ONE_OF_THEM = {"are": "is", "were": "was", "have": "has", "do": "does"}
_OF_SEVERAL = re.compile(r"\b(do|are|were|have)(?= )", re.IGNORECASE)
_WHICH_IS_LARGER = re.compile(
    rf"^which (?P<noun>\w[\w -]{{0,60}}?) (?:is|are|was|were) (?:the )?{_LARGER}\b\W*(?:that of |in |of )*",
    re.IGNORECASE,
)
_HAS_MORE = re.compile(
    rf"^which (?:one |model |paper |method |system )?(?:has|have|had|uses?|used) (?:the |a |an )?(?P<larger>{_LARGER}) "
    r"(?P<noun>\w[^,?]{0,60})$",
    re.IGNORECASE,
)
_WHICH = re.compile(r"^which(?: ones?)? (?:of [^,]{1,60}, )?", re.IGNORECASE)
_WHICH_OF_TWO = re.compile(r"^which\b[^,]{0,80}, ", re.IGNORECASE)
_IS_LARGER = re.compile(rf"^(?:is|are|was|were)\s+(?P<what>.{{1,120}}?)\s+(?:much |far )?{_LARGER}\W*$", re.IGNORECASE)
_COMPARE = re.compile(r"^(?:please )?(?:compare|contrast)\s+(?:and contrast\s+)?", re.IGNORECASE)
_IS_NOUN = re.compile(r"^(?:is|are|was|were) (?:the|its|their)\b", re.IGNORECASE)
_NOUN_FIRST = re.compile(r"^(?:the|a|an|its|their)\b", re.IGNORECASE)


def set_side_by_side(question: str) -> str:
    """Gives "How does A differ from B in Z?" as "How do A and B differ in Z?", without Z as "Compare A with B".

    Any other question is given back as it is.
    """
    found = _FROM.match(question.rstrip(" ?.!"))
    if not found:
        return question
    if not found["rest"]:
        return f"Compare {found['one']} with {found['other']}"
    return f"How do {found['one']} and {found['other']} differ{found['rest']}?"


def completed(first: str, clause: str, name: str) -> str:
    """A clause that leaves out what the `first` one, about `name`, has said, with those words.

    "How large is N in A" and "that of B": how large is N of B. "Which layer has A" and "which does B have": which
    layer does B have. "" where the clause is not of these kinds.
    """
    again, asked = _ASKED_AGAIN.match(clause), _ASKED_FIRST.match(first)
    if again and asked:
        return f"{asked['asked']} {clause[again.end() :]}"
    other, at = _OF_ANOTHER.match(clause), first.find(name)
    if not other or at < 1:
        return ""
    place = _BEFORE_PLACE.match(first[:at].rstrip())
    return f"{(place['before'] if place else first[:at]).rstrip()} {other['of']}"


def worded(clause: str, item: str) -> str:
    """The question about `item` alone, where `clause` is one about several things with `item` in their place.

    `worded("How do BERT differ in weight decay?", "BERT")` is "What is the weight decay in BERT?".
    """
    text = " ".join(clause.split()).strip(" ,;:?.!")
    if _COMPARE.match(text):
        text = _COMPARE.sub("", text)
        if text.startswith(item):
            return _of_difference(f"{item} differ{text[len(item) :]}", item)
        return f"{_is(text)} {text}?"
    if _DIFFERENCE.search(text):
        return _of_difference(text, item)
    if larger := _WHICH_IS_LARGER.match(text):
        return f"What is the {larger['noun']} of {text[larger.end() :].strip() or item}?"
    if _WHICH.match(text):
        chosen = _of_which(text, item)
        if chosen:
            return chosen
    if is_larger := _IS_LARGER.match(text):
        text = is_larger["what"]
    if _IS_NOUN.match(text) and text.endswith(item):
        return f"What {text[0].lower()}{text[1:]}?"
    if _NOUN_FIRST.match(text) and text[0].islower() and not _ASKS.search(text):
        return f"{_is(text)} {text}?"
    return _capital(f"{_of_one(text, item)}?")


def _of_which(text: str, item: str) -> str:
    """Gives "What N does A have?" for "Which has the larger N, A", and with "more N" "How many N".

    "Which of the two, A, grew" gives "A grew".
    """
    if text.endswith(f", {item}"):
        said = text[: -len(item)].rstrip(" ,:")
        if has_more := _HAS_MORE.match(said):
            asks = "How many" if has_more["larger"].casefold() in ("more", "fewer") else "What"
            return f"{asks} {has_more['noun']} does {item} have?"
        return _whether(item, _WHICH.sub("", said))
    opening = _WHICH_OF_TWO.match(text)
    if opening and text[opening.end() :].startswith(item):
        return _whether(item, text[opening.end() + len(item) :].lstrip(" ,"))
    return ""


def _whether(item: str, said: str) -> str:
    """Asks whether something is so of `item`: "was trained longer" gives "Was OakMap trained longer?"."""
    verb, _, rest = said.partition(" ")
    if _AUXILIARY_ALONE.fullmatch(verb):
        return f"{_capital(verb)} {item} {rest}?"
    return _capital(f"{item}: {said}?")


def _of_difference(text: str, item: str) -> str:
    place = _DIFFERENCE.search(text)
    after = text[place.end() :] if place else ""
    attribute = _ATTRIBUTE.search(_without_item(after, item)) if after else None
    if attribute is None:
        return f"What is {item}?"
    what = attribute["what"].strip()
    if what[:1].isupper() and attribute["where"].casefold() in ("on", "in"):
        return f"How does {item} do {attribute['where']} {what}?"
    if _ASKS_HOW.match(what):
        return _capital(_inverted(what, item)) + "?"
    if way := _WAY_THEY.match(what):
        return f"How does {item} {what[way.end() :]}?"
    if "they" in what.split():
        what = _THEY_ARE.sub(lambda said: f"{item} {_ONE_OF_THEM.get(said[1].lower(), said[1])}", what)
        what = _THEY_DO.sub(f"{item} does ", what)
        return f"{_is(what)} {_with_article(what)}?"
    what = re.sub(r"\btheir\b", "the", what, flags=re.IGNORECASE)
    return f"{_is(what)} {_with_article(what)} in {item}?"


def _inverted(asked: str, item: str) -> str:
    """For "what they do with it": "what does BERT do with it"; for "how they are trained": "how is BERT trained"."""
    auxiliary = re.sub(
        r"\bthey (are|were|have|had|can|will)\b",
        lambda said: f"{_ONE_OF_THEM.get(said[1].lower(), said[1])} {item}",
        asked,
        count=1,
        flags=re.IGNORECASE,
    )
    if auxiliary != asked:
        return auxiliary
    done = re.sub(r"\bthey (?=\w)", f"does {item} ", asked, count=1, flags=re.IGNORECASE)
    return done if done != asked else f"{asked} in {item}"


def _of_one(text: str, item: str) -> str:
    """The verb before a list agrees with one item of it."""
    at = text.find(item)
    if at < 0 or item.casefold().endswith("s"):
        return text
    before = text[:at].rstrip()
    verb = before.rsplit(" ", 1)[-1]
    if verb.casefold() in _ONE_OF_THEM:
        one = _ONE_OF_THEM[verb.casefold()]
        before = before[: -len(verb)] + (_capital(one) if verb[0].isupper() else one)
        return f"{before} {text[at:]}"
    return text


def _without_item(text: str, item: str) -> str:
    return " ".join(text.replace(item, "", 1).split())


def _with_article(what: str) -> str:
    return what if _NOUN_FIRST.match(what) or what[:1].isupper() else f"the {what}"


def _is(what: str) -> str:
    head = re.split(r"\s(?:of|in|on|for|with|to|that|which|used|reported|by|at)\s", what, maxsplit=1)[0]
    return "What are" if re.search(r"[^su]s$", head, re.IGNORECASE) else "What is"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
