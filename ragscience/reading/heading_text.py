"""What the text of a line tells about whether it is a heading: its number, its name, the form of a sentence."""

from __future__ import annotations

import re

__all__ = [
    "LETTER",
    "REFERENCES",
    "heading_number",
    "is_core_section",
    "is_known_heading",
    "is_label",
    "is_sentence",
    "number_match",
    "sign_after",
    "without_number",
]

LETTER = re.compile(r"[^\W\d_]")
_NUMBERED = re.compile(
    r"(?:(?P<word>appendix|annex)\s+)?(?P<number>(?:\d{1,2}|[A-Z]|[IVX]{2,5})(?:\.\d{1,2}){0,4})(?P<dot>[.:)]?)\s+(?P<rest>\S.*)",
    re.IGNORECASE,
)
REFERENCES = re.compile(r"references(?: and notes)?|bibliography|literature cited|works cited", re.IGNORECASE)
_CORE = re.compile(
    r"(?:general )?introduction|background|(?:materials? and )?methods?|methodology|results?|results and discussion|"
    r"discussion|(?:discussion and )?conclusions?",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"""abstract | (?:executive\ )?summary | (?:general\ )?introduction | background | related\ works? | preliminaries
    | (?:materials?\ and\ )?methods? | methodology | experiments? | evaluation | results? | results\ and\ discussion
    | discussion | (?:discussion\ and\ )?conclusions? | conclusions?\ and\ .{3,40} | future\ work | limitations
    | acknowledge?ments? | appendix | appendices | supplementary\ materials? | ethics\ statement | broader\ impacts?
    | references(?:\ and\ notes)? | bibliography | literature\ cited | works\ cited | contents | table\ of\ contents
    | (?:competing|conflicts?\ of|declarations?\ of)\ interests?
    | authors?[’']?\ (?:contributions?|details) | funding | additional\ files? | data\ availability(?:\ statement)?
    | abbreviations | key\ ?words | general\ terms""",
    re.IGNORECASE | re.VERBOSE,
)
_LABEL = re.compile(
    r"(?:theorem|lemma|proposition|corollary|definition|remark|claim|example|exercise|conjecture|observation|fact)"
    r"\s\d+(?:\.\d+)*\b.*|proof(?: of .*)?[.:]?|"
    r"(?:figure|fig\.|table|algorithm|listing|scheme)\s?\d.*|.*(?:\w@\w|https?://|\bwww\.).*|[^@]*+@.*\.\w.*",
    re.IGNORECASE,
)
"""The label of a theorem or a proof, of a float, or an address."""
_SENTENCE_END = re.compile(r"[^\W\d_]{3,}[)\"”’]?[.!?]\s+[\"“(]?[A-Z]")
_LONGEST = 130
"""Characters of a heading without a number."""
_LONG_NAME = 8
"""Blanks in a name that ends with a full stop or a colon, at most."""


def number_match(text: str) -> re.Match[str] | None:
    """The match of a line that begins with a number or a letter, with the groups word, number, dot and rest."""
    return _NUMBERED.fullmatch(text)


def is_known_heading(text: str) -> bool:
    """Whether a line is nothing but a usual section name."""
    return bool(_KNOWN.fullmatch(without_number(text).strip(" .:—–-")))


def is_core_section(text: str) -> bool:
    """Whether a line without a number is the name of a section that has a number where sections have numbers."""
    return bool(_CORE.fullmatch(text.strip(" .:—–-")))


def is_label(text: str) -> bool:
    """Whether a line is the label of a theorem, a proof or a float, or has an e-mail or web address."""
    return bool(_LABEL.fullmatch(text))


def is_sentence(text: str) -> bool:
    """Whether a line without a number reads as a sentence or as several rather than as a name."""
    is_closed = text[-1] in ",;!" or (text[-1] in ".:" and text.count(" ") >= _LONG_NAME)
    return is_closed or len(text) > _LONGEST or bool(_SENTENCE_END.search(text))


def without_number(text: str) -> str:
    """The text without the number that it begins with."""
    match = number_match(text)
    return match["rest"] if match else text


def heading_number(text: str) -> str:
    """The number of a heading, "3.2" or "A.1", or ""."""
    match = number_match(text)
    return match["number"] if match else ""


def sign_after(text: str) -> str:
    """The sign after the number of a heading: ".", ":" or ")", or ""."""
    match = number_match(text)
    return match["dot"] if match else ""
