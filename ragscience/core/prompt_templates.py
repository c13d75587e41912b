"""Text by others made harmless in a prompt: what does not show, what passes for a fence or a mark of a template."""

import re
import unicodedata

_UNSENDABLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that show nothing, and that Unicode does not count among the format characters."""
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LESS = "<＜﹤‹〈〈⟨❬❰⧼≺ᐸ˂𐐘《«⟪"
_MORE = ">＞﹥›〉〉⟩❭❱⧽≻ᐳ˃》»⟫"
_BAR = "|｜∣ǀ¦❘│┃"
_FENCE_WORDS = ("passage", "page", "conversation", "question")
_LOOKALIKES = str.maketrans(
    {"а": "a", "е": "e", "о": "o", "р": "p", "с": "c", "ѕ": "s", "і": "i", "ѵ": "v", "п": "n", "т": "t"}
    | {"α": "a", "ε": "e", "ο": "o", "ρ": "p", "ν": "v", "ι": "i", "τ": "t", "η": "n", "ϲ": "c", "ς": "s"}
    | {"ɑ": "a", "ɡ": "g", "օ": "o", "ո": "n", "ց": "g", "ѕ": "s", "ı": "i", "ᴀ": "a", "ᴄ": "c", "ᴇ": "e"}
    | {"ɢ": "g", "ɪ": "i", "ɴ": "n", "ᴏ": "o", "ᴘ": "p", "ʀ": "r", "ꜱ": "s", "ᴛ": "t", "ᴠ": "v"}
)
"""Letters of Cyrillic, Greek, Armenian and small capitals that pass for Latin ones, case-folded."""
_AHEAD = 48
"""Characters after a bracket that are searched for the word of a fence."""
_BARRED = re.compile(rf"[{_LESS}]\s*[{_BAR}]([^{_BAR}\n]{{0,80}})[{_BAR}]\s*[{_MORE}]")
_TAG = re.compile(
    rf"[{_LESS}]((?:\s*+[/\\])?+\s*+(?:[A-Za-z]+(?:[_▁][A-Za-z0-9]+)+|s|bos|eos|pad|unk|sys|inst|think|thinking|system|user"
    rf"|assistant|human|tool|turn|eod|sep|cls|mask|end|begin)(?:\s*+/)?+\s*+)[{_MORE}]",
    re.IGNORECASE,
)
_SQUARE = re.compile(r"[\[［]((?:\s*+/)?+\s*+(?:INST|SYS|[A-Z]+(?:_[A-Z]+)+)\s*+)[\]］]", re.IGNORECASE)
_BRACKETS = re.compile(f"[{_LESS}]+")


def sendable(text: str) -> str:
    """`text` without characters that do not show or cannot be encoded; each end of a line is a line feed."""
    plain = _FILLERS.sub("", _LINE_ENDS.sub("\n", text))
    bad = {c: None for c in map(ord, set(plain) - {"\n", "\t"}) if unicodedata.category(chr(c)) in _UNSENDABLE}
    return plain.translate(bad) if bad else plain


def sanitize(text: str) -> str:
    """`sendable` text in which no fence and no token of a chat template is left; words and numbers are untouched."""
    text = sendable(text)
    before = ""
    while text != before:  # what is taken out of a token's middle may leave another one
        before = text
        text = _SQUARE.sub(r"(\1)", _TAG.sub(r"‹\1›", _BARRED.sub(r"‹\1›", text)))
    return _BRACKETS.sub(_unless_fence, text)


def _unless_fence(match: re.Match[str]) -> str:
    return "‹" if _opens_fence(match.string[match.end() : match.end() + _AHEAD]) else match.group()


def _opens_fence(behind: str) -> bool:
    """Whether a bracket with this behind it may be read as one of our fences, opened or closed."""
    folded = unicodedata.normalize("NFKD", behind).casefold().translate(_LOOKALIKES)
    letters = "".join(c for c in folded if not unicodedata.combining(c)).lstrip(" \t\n/\\⁄∕|_-.:*'\"`")
    return "".join(c for c in letters if c.isalpha()).startswith(_FENCE_WORDS) and letters[:1].isalpha()
