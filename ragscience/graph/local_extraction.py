"""Entities and relations of a paper's passages without a language model: its acronyms and names, and what it says.

A name is a word with an unusual shape ("BERT", "CIFAR-10") or capitalised words ("Penn Treebank") that the paper
repeats; an acronym comes with the words that it stands for; a term is a noun of _HEADS with one or two words in lower
case before it ("embedding model"). The type is that of a term's noun, or of the noun beside a name in most places ("the
GLUE benchmark": DATASET), else CONCEPT. Relations are those that the words between two names state, and
co-occurrence in a sentence.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

from ragscience.core.records import StoredChunk
from ragscience.core.sentences import short_forms, split_sentences
from ragscience.core.tokenizing import STOP_WORDS, joined_lines
from ragscience.graph.graph_records import CO_OCCURS, LONGEST_NAME, EntityMention, Extracted, Triple, canonical, clean

VERSION = "6"
"""Version of the rules: passages read by an older version are read again."""
OFTEN_SHAPED, OFTEN_CAPITALISED, OFTEN_TERM = 2, 3, 3
"""How often a name must be written: a capital alone may be a heading's."""
LOWER_SHARE = 0.2
"""Words that are in lower case more often than this share of their capitals are no names."""
TYPED, UNTYPED, STATED, TOGETHER = 0.8, 0.6, 0.85, 0.2
"""Confidences of an entity whose type the paper shows, of another, of a stated relation and of a co-occurrence."""
MOST_TOGETHER = 12
"""Maximum co-occurring pairs per passage."""
_HEADS = {
    "DATASET": "dataset data set corpus corpora benchmark treebank testbed leaderboard",
    "METRIC": "score accuracy error rate loss perplexity metric measure precision recall latency throughput",
    "ALGORITHM": "algorithm optimizer optimiser procedure protocol sampler solver descent search backpropagation",
    "METHOD": """model network transformer encoder decoder classifier method approach framework system architecture
        layer retriever reader generator baseline technique library engine kernel mechanism attention embedding""",
    "TASK": "task challenge translation answering parsing inference recognition classification summarization",
    "ORGANISATION": "university institute department laboratory laboratories inc corporation foundation",
}
_KIND = {noun: kind for kind, nouns in _HEADS.items() for noun in nouns.split()}
_NO_NAMES = frozenset(
    """figure fig table section equation eq appendix theorem lemma proposition corollary definition algorithm chapter
    gpu gpus cpu cpus tpu tpus ram pdf url http https usa uk us eu ii iii iv vi vii viii ix january february march april
    may june july august september october november december monday friday university institute department
    english arxiv preprint conference proceedings journal vol""".split()  # noqa: SIM905  # a list of forty strings
)
_GENERAL = frozenset(
    """existing previous prior strong large larger new both two three single simple popular standard original different
    all other modern recent various traditional trained challenging several multiple many well-known pre-trained
    pretrained proposed same first second final best better whole entire higher lower lowest underlying practical
    following""".split()  # noqa: SIM905  # a list of forty strings
)
"""Words before a noun that name nothing."""
_NO_TERMS = frozenset({"data", "set", "sets", "rate", "rates"})
"""Nouns before which a word in lower case names nothing: "test set", "learning rate"."""
_WORD = r"[^\W\d_][^\W_]*(?:[-‐‑–/&+][^\W_]+|['’](?!s\b)[^\W_]+)*(?:\+\+|[+*](?=[\s,.)]|$))?"
_TOKEN = re.compile(rf"{_WORD}|\d+(?:\.\d+)?")
_CAPITALISED = re.compile(r"[A-Z][a-z]{2,}(?:['’-][A-Z]?[a-z]+)*")
_AFTER = re.compile(rf"(?:,|\s(?:is|are|was)) an? (?:[\w-]+ ){{0,4}}?({'|'.join(_KIND)})\b|\s({_WORD})")
_PERSON = re.compile(r",?\s(?:et al|(?:(?:and|&) [A-Z][\w-]+)?,? ?\(?(?:19|20)\d\d)")
_BEFORE = re.compile(
    rf"(?:\b(?:evaluated|trained|tuned|tested|results?|accuracy|scores?) (on)|({_WORD}))\s"
    r"(?:(?:the|a|an|called|named)\s)?$"
)

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class OwnNames:
    """The names of a paper with their types, and its acronyms."""

    kinds: dict[str, tuple[str, float]]
    """Canonical name: (type, confidence)."""
    aliases: frozenset[tuple[str, str]]
    """(short, long)."""
    pattern: re.Pattern[str]
    """Finds the names in a line."""


def own_names(chunks: Sequence[StoredChunk], types: frozenset[str]) -> OwnNames:
    """The names, of these types, of the paper that consists of `chunks`."""
    count, votes = Counter[str](), defaultdict[str, Counter[str]](Counter)
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    lower, capital, aliases = Counter[str](), Counter[str](), dict[tuple[str, str], None]()
    for line, kind in (each for chunk in chunks for each in _lines(chunk.text)):
        words = [(one.start(), one.end(), one.group()) for one in _TOKEN.finditer(line)]
        lower.update(word for _, _, word in words if word.islower())
        capital.update(word.casefold() for at, (_, _, word) in enumerate(words) if at and word[:1].isupper())
        aliases.update(dict.fromkeys(short_forms(line)))
        for start, end in (*_runs(line, words), *_terms(line, words)):
            if kind == "row" and not _is_shaped(line[start:end]):
                continue
            name = line[start:end]
            count[canonical(name)] += 1
            surfaces[canonical(name)].add(name)
            votes[canonical(name)].update(_votes(line, start, end))
    kinds: dict[str, tuple[str, float]] = {}
    for name, often in count.items():
        shaped = any(_is_shaped(word) for one in surfaces[name] for word in one.split())
        term = _KIND.get(name.split()[-1]) if all(one.islower() for one in surfaces[name]) else None
        if term and often >= OFTEN_TERM:
            kinds[name] = (term, TYPED)
        common = all(word.isalpha() and lower[word] > LOWER_SHARE * capital[word] for word in name.split())
        if often >= (OFTEN_SHAPED if shaped else OFTEN_CAPITALISED) and not common and len(name) <= LONGEST_NAME:
            kinds[name] = _kind(votes[name])
    for short, long in aliases:
        name, meant = canonical(short), canonical(long)
        kinds[name] = kinds[meant] = _kind(votes[name] + Counter({_KIND.get(meant.split()[-1], ""): 2}))
        surfaces[name].add(short)
        surfaces[meant].add(long)
    kept = {name: kind for name, kind in kinds.items() if kind[0] in types}
    stated = frozenset(pair for pair in aliases if canonical(pair[0]) in kept)
    spelt = {canonical(pair[1]) for pair in stated}
    return OwnNames(kept, stated, _pattern({name: surfaces[name] for name in kept}, spelt))


def extract(chunk: StoredChunk, names: OwnNames) -> Extracted:
    """The entities and relations of a passage; `names` are those of its whole paper. Deterministic."""
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    stated: dict[tuple[str, str, str], float] = {}
    together: dict[tuple[str, str], None] = {}
    aliases: set[tuple[str, str]] = set()
    for line, kind in _lines(chunk.text):
        found = [(one.span(), canonical(one.group())) for one in names.pattern.finditer(line)]
        found = [(span, name) for span, name in found if name in names.kinds]
        for (start, end), name in found:
            written[name][clean(line[start:end])] += 1
        own = {pair for pair in names.aliases if len(found) > 1 and pair[0] in line and pair[1] in line}
        aliases |= own
        if kind == "row":
            continue
        for (one, source), (other, target) in pairwise(found):
            relation = _stated_relation(line[: one[0]], line[one[1] : other[0]], line[other[1] :])
            if relation and source != target:
                stated[source, relation, target] = STATED
        together.update(dict.fromkeys(_together([name for _, name in found], own)))
    shown = {name: min(each, key=lambda one: (-each[one], one)) for name, each in written.items()}
    related = {frozenset(triple[::2]) for triple in stated}
    weak = [pair for pair in together if frozenset(pair) not in related][:MOST_TOGETHER]
    edges = sorted([*stated.items(), *(((one, CO_OCCURS, other), TOGETHER) for one, other in weak)])
    mentions = [EntityMention(shown[name], kind, written[name].total(), sure)
                for name, (kind, sure) in sorted(names.kinds.items()) if name in shown]  # fmt: skip
    triples = [
        Triple(shown[one], names.kinds[one][0], relation, shown[other], names.kinds[other][0], sure)
        for (one, relation, other), sure in edges
    ]
    return Extracted(chunk.chunk_id, tuple(mentions), tuple(triples), tuple(sorted(aliases)))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence, caption or row on one line, with its kind."""
    for span in split_sentences(text):
        yield joined_lines(unicodedata.normalize("NFKC", text[span.start : span.end])), span.kind


def _runs(line: str, words: Sequence[tuple[int, int, str]]) -> Iterator[Span]:
    """The spans that are written as names: "Penn Treebank", "GPT-2"; neighbours that are shaped are names each."""
    letters = [char for char in line if char.isalpha()]
    if len(letters) > 8 and sum(char.isupper() for char in letters) > 0.6 * len(letters):
        return  # a line in capitals
    run: list[tuple[int, int, str]] = []
    for at, (start, end, word) in enumerate([*words, (len(line) + 9, 0, "")]):
        shaped = _is_shaped(word) and word.casefold() not in _NO_NAMES
        begins = at == 0 or line[:start].rstrip()[-1:] in ".:•"
        named = shaped or (
            not begins and _CAPITALISED.fullmatch(word) and word.casefold() not in STOP_WORDS | _NO_NAMES
        )
        apart = bool(run) and line[run[-1][1] : start] != " "
        if run and (not named or apart or shaped):
            yield run[0][0], run[-1][1]
            run = []
        if named:
            run.append((start, end, word))


def _terms(line: str, words: Sequence[tuple[int, int, str]]) -> Iterator[Span]:
    """The spans of a noun of _HEADS with one or two words in lower case before it: "dense search"."""
    for at, (_, end, word) in enumerate(words):
        if word.islower() and canonical(word) in _KIND and word not in _NO_TERMS:
            for first in (at - 1, at - 2):
                if first < 0 or not _is_modifier(words[first][2]) or line[words[first][1] : words[first + 1][0]] != " ":
                    break
                yield words[first][0], end


def _is_modifier(word: str) -> bool:
    return word.islower() and len(word) > 2 and word not in STOP_WORDS | _GENERAL


def _votes(line: str, start: int, end: int) -> Iterator[str]:
    """The types that the words beside a name give it."""
    if _PERSON.match(line, end):
        yield from ("PERSON",) * 2
        return
    after, before = _AFTER.match(line, end), _BEFORE.search(line[max(0, start - 40) : start])
    nouns = ["dataset" if each[1] == "on" else each[1] or each[2] for each in (after, before) if each]
    for kind in (_KIND.get(canonical(noun)) for noun in nouns):
        if kind:
            yield kind


def _kind(votes: Counter[str]) -> tuple[str, float]:
    """(the type with most votes, its confidence)."""
    best = min((kind for kind in votes if kind), key=lambda kind: (-votes[kind], kind), default="")
    return (best, TYPED) if best else ("CONCEPT", UNTYPED)


def _pattern(surfaces: dict[str, set[str]], long: set[str]) -> re.Pattern[str]:
    """Finds these names; those of acronyms written out in any case, others as they are written."""
    texts = []
    for name, each in surfaces.items():
        for surface in each:
            words = r"[\s‐‑–-]+".join(re.escape(word) for word in re.split(r"[\s‐‑–-]+", surface))
            texts.append((len(surface), f"(?i:{words})" if name in long else words))
    parts = [text for _, text in sorted(texts, key=lambda one: (-one[0], one[1]))]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(parts) or '(?!)'})(?:e?s)?(?![\w-])")


def _together(names: Sequence[str], stated: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pairs of different entities of a sentence, each pair in order; not an acronym with what it stands for."""
    distinct = list(dict.fromkeys(names))
    same = {frozenset((canonical(short), canonical(long))) for short, long in stated}
    pairs = (pair for pair in combinations(distinct, 2) if frozenset(pair) not in same)
    yield from ((min(pair), max(pair)) for pair in pairs)


_NUMBERED = re.compile(r"[A-Z][a-z]{2,}+[a-zA-Z]*+-?\d++[A-Za-z]?")
_LONGEST_WORD = 30


@lru_cache(maxsize=1 << 15)
def _is_shaped(word: str) -> bool:
    """Whether a word is written like a name: "BERT", "MapReduce", "CIFAR-10", "kNN-LM", "Wikitext103"."""
    parts = re.split(r"[-‐‑–/]", word)
    letters, digits = sum(char.isalpha() for char in word), sum(char.isdigit() for char in word)
    if not 3 <= len(word) <= _LONGEST_WORD or not (word[0].isascii() and word[0].isalpha()) or not all(parts):
        return False
    if digits > letters + 1 or letters < 2:
        return False
    if word.casefold() in _NO_NAMES or any(part.casefold() in _NO_NAMES for part in parts):
        return False
    # Two capitals in one part ("LoRA"), not one in each of two common words.
    return any(sum(char.isupper() for char in part) >= 2 for part in parts) or bool(_NUMBERED.fullmatch(word))


# Relations

_DETERMINERS = rf"(?:(?:an?|the|its|their|our|this|these|{'|'.join(sorted(_GENERAL))}) )*"
_TAIL = r"(?:(?:[\d.]+ ?[BMK]|large|small|base|itself|alone|models?|networks?|algorithms?|methods?|training),? )*"
"""What may be between the first name and its verb: "PaLM 540B uses", "BERT models use"."""
_LINK = "(?:(?:which|that) )?(?:(?:is|are|was|were|been) )?"
_ADVERBS = r"(?:(?:\w+ly|also|then|thus|both|still|often|even) )*+"
_STATED = tuple(
    (kind, re.compile(rf"{_TAIL}{_LINK}{_ADVERBS}(?:{words}) {_DETERMINERS}", re.IGNORECASE))
    for kind, words in (
        ("EVALUATED_ON", r"(?:evaluated|tested|validated)(?: and \w+)? on"),
        ("EVALUATED_ON", r"(?:achieve[sd]?|obtain(?:s|ed)|reache[sd])(?: (?!than\b)(?:[^\s.;:,()]|\.(?=\d))+){0,9} on"),
        ("USES", r"(?:pre-?|fine-?)?(?:trained|tuned) (?:only )?(?:on|with|using)|combined with"),
        ("USES", r"uses|used|employs|leverages|adopts|relies on|makes use of"),
        ("IMPROVES", r"outperform(?:s|ed)?|surpass(?:es|ed)?|(?:performs? )?(?:better|faster|more accurate) than"),
        ("COMPARES_TO", r"(?:compared|comparable|similar|equivalent|superior|inferior) (?:to|with)|versus|vs\.?"),
        ("BASED_ON", r"(?:based|built) (?:up)?on|(?:derived|adapted) from|extends|(?:inspired|motivated) by"),
    )
)
"""(relation, the words between two names)."""
_COMPARE = re.compile(r"\b(?:compar(?:e|es|ed|ing|ison (?:of|between))|difference between) (?:the |our )?$", re.I)
_COMPARED = re.compile(rf"{_TAIL}(?:and|with|to|against|versus)\s+{_DETERMINERS}", re.I)
_DENIED = re.compile(
    r"\b(?:not|never|cannot|neither|nor|without|no|none|fails?|hardly|rarely|unlikely|rather than|instead of|except|"
    r"whether|few|if|unless|suppose|assum\w+|hypothesi\w+|expect\w*|although|though|while|whereas)\b|n['’]t\b",
    re.I,
)
_DEPENDENT = re.compile(
    r"\b(?:of|in|on|for|with|from|by|to|at|as|into|via|using|between|like|over|than|through|against|under|within|"
    r"replac\w+|unlike|compar\w+|combin\w+)(?: [\w-]+){0,2} ?$",
    re.I,
)
"""Before a name that is not the subject: "results of BERT"."""


def _stated_relation(before: str, between: str, after: str) -> str | None:
    """The relation of two names of a sentence: what is before, between and after them.

    The kinds of relation kept are those that were right nine times of ten, see tests/graph/gold.
    """
    between = between.lstrip()
    if after.rstrip().endswith("?") or _DENIED.search(between) or _DENIED.search(before[-70:]):
        return None
    if _COMPARE.search(before) and _COMPARED.fullmatch(between):
        return "COMPARES_TO"
    if between.startswith(")") or _DEPENDENT.search(before):
        return None
    return next((kind for kind, pattern in _STATED if pattern.fullmatch(between)), None)
