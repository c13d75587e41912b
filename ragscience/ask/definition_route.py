"""Questions for what something is or how it works: the sentences of the papers that say so, by wording and place.

The patterns are those of definitions in running text (Hearst 1992, COLING; "X is a …", "we call this X", "X, a …").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragscience.ask.asked_papers import AskedPapers
from ragscience.ask.paper_text import PaperText, Sentence
from ragscience.ask.phrase_search import Phrase, Place, find_phrases
from ragscience.ask.router import RouteContext, Routed
from ragscience.ask.summary_cues import METHOD
from ragscience.ask.summary_quotes import SummaryQuotes, is_sentence, tells_what
from ragscience.core.paper_records import page_parts
from ragscience.core.records import Block, Citation, Hit, Paper, StoredChunk, title_of
from ragscience.core.sentences import SentenceSpan, split_sentences
from ragscience.core.tokenizing import counted, joined_lines, terms

__all__ = ["answer"]

_END = r"(?: (?:please|briefly|in short|exactly))?\s?[?.!]?"
_ASKED = re.compile(
    r"(?:(?:please )?(?:define|explain|describe)|what(?:['’]s| is| are| does| do)(?: meant by)?|tell me about) "
    r"(?P<thing>[^?.!,]{2,60}?)(?: (?:mean|stand for|refer to|do))?" + _END,
    re.IGNORECASE,
)
_HOW = re.compile(
    r"(?:(?:please |can you |could you )*+(?:explain|describe|tell me|understand) )?how (?:(?:does|do|did) )?"
    r"(?P<thing>[^?.!,]{2,60}?) (?:works?|functions?|operates?)" + _END,
    re.IGNORECASE,
)
_KIND = re.compile(
    r"(?:an? |the )?(?P<name>@0)(?: (?:algorithm|approach|architecture|framework|language|method|metric|model|network|"
    r"optimi[sz]er|protocol|score|system|technique))?",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|any) ", re.IGNORECASE)
_ANY_ARTICLE = re.compile(r"(?:an?|any|the) ", re.IGNORECASE)
"""Before what works; "What is the learning rate?" asks for no definition."""
_NO_THING = re.compile(
    r"\b(?:of|for|in|on|with|to|from|by|at|and|or|as|about|between|the|this|that|these|those|it|they|their|its|his|"
    r"her|my|your|our|used|there|how|why|which|who|when|where|best|main|most|difference)\b",
    re.IGNORECASE,
)
_MOST_WORDS = 4
_MOST = 3
_LONGEST = 400
_SHORT = 80
"""A sentence that introduces something in fewer characters hardly says what it is."""
_ABSTRACT_CHARS = 700
"""As much of an abstract, in whole sentences, says how the paper's work works."""
_ENOUGH = 400
"""With as many characters of it no other sentences are needed."""
_SECTION_CHARS = 500
"""As much of a section, in whole sentences, says what the section is called after."""
_FEW_SECTIONS = 2
"""Papers with a section of a name, above which it names none of their things ("Results")."""
_NUMBER = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*+\.?|[A-Z](?:\.\d{1,2})*+\.?|[IVX]{1,6}\.)\s")
_TAIL = re.compile(
    r" (?:algorithm|approach|architecture|concept|framework|function|functions|mechanism|method|methods|model|models|"
    r"system|technique)$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:(?:an?|the|in \w{1,20},|formally,|intuitively,|here,|the term) )?(?:an? |the )?[“\"‘]?$", re.I
)
"""What may stand before a phrase at the beginning of a sentence that defines it."""
_IS = re.compile(
    r"[”\"’']?(?: (?:functions?|models?|methods?|mechanisms?|algorithms?|systems?))?(?: \([^()]{1,60}\))?"
    r"(?: (?:on|in|over|of|for|between) \w{1,20}(?: \w{1,20}){0,2}|, [^.;:]{1,60}?,?)? "
    r"(?:(?:is|are) (?:an? |any |one of |the (?:task|process|problem|set|number|ability|idea|use|study|fraction|ratio|"
    r"probability|act|practice|art)\b|defined|simply|essentially|when )|"
    r"(?:can|may) be (?:described|defined|seen|thought|viewed|understood)|"
    r"refers? to|denotes?|means|stands? for|consists? of|aims? to)",
)
_ALLOWS = re.compile(r"[”\"’']? (?:allows?|lets?|enables?) (?!us\b)")
_WE_DEFINE = re.compile(
    r"\bwe (?:(?:\w{1,12}ly|now|then|thus|also) )?(?:define|use(?: the term)?)(?: an?| the)? [“\"‘]?$", re.I
)
"""What stands before a phrase that a paper defines itself,"""
_AS = re.compile(r"[”\"’']?(?: \([^()]{1,40}\))? (?:as|to (?:be|mean|refer to|denote|describe))\b")
"""and behind it."""
_CALLED = re.compile(
    r"\b(?:(?:called|termed|named|dubbed|known as)|we call(?: (?:this|these|it|them|such)(?: \w{1,20})?)?|"
    r"refer(?:red)? to (?:\w{1,20} ){0,5}as)(?: an?| the)? [“\"‘]?$",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\b(?:this|these|it|them|such)\b", re.IGNORECASE)
"""In a sentence that calls something by a name: it says what that is only with the sentence before it."""
_APPOSITION = re.compile(r"[”\"’]?(?: \([^()]{1,40}\))?, (?:an?|which is an?|that is, an?) (?=[a-z])")


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence, and how plainly it defines."""

    strength: float
    chunk: StoredChunk
    span: SentenceSpan


def answer(question: str, context: RouteContext) -> Routed | None:
    """Quotes that say what a thing is or how it works; None for any other question, and where no sentence says it.

    What a paper names itself after is what that paper says; any other thing what any paper says of it.
    """
    said = " ".join(question.split())
    how = _HOW.fullmatch(said)
    match = how or _ASKED.fullmatch(said)
    if match is None:
        return None
    asked = AskedPapers.of(match["thing"], context)
    if asked.papers:
        paper = asked.papers[0]
        if not _KIND.fullmatch(asked.question):
            return None
        return _how_it_works(paper, said, context) if how else _own_thing(paper, context)
    article = (_ANY_ARTICLE if how else _ARTICLE).match(match["thing"])
    thing = match["thing"][article.end() :] if article else match["thing"]
    if len(thing.split()) > _MOST_WORDS or _NO_THING.search(thing):
        return None
    phrase = Phrase(thing)
    papers = {paper.paper_id: paper for paper in context.papers}
    found, _ = find_phrases([phrase], papers, context)
    places = [place for one in found.values() for place in one.text.values()]
    is_defined = None if how else _any_thing(thing, places, context)
    return is_defined or _section_called(thing, said, places, context)


def _how_it_works(paper: Paper, question: str, context: RouteContext) -> Routed | None:
    """The abstract from where it says what the paper does; where that is little, other sentences that say it, too."""
    text = PaperText(context.library, paper)
    quotes = SummaryQuotes(text, context.names)
    done = quotes.of(METHOD, _MOST) or quotes.definition(_MOST)[0]
    if not done:
        return None
    runs = [[done[0]]]
    for one in text.sentences[text.sentences.index(done[0]) + 1 :]:
        if one.section != done[0].section or sum(len(each.text) for each in (*runs[0], one)) > _ABSTRACT_CHARS:
            break
        runs[0].append(one)
    if sum(len(one.text) for one in runs[0]) < _ENOUGH:
        runs += [[one] for one in _with_next(done[1:], text) if one not in runs[0]]
    blocks = tuple(
        Block("quote", " ".join(one.text for one in run), tuple(cited for one in run for cited in one.citations))
        for run in runs
    )
    hits = text.hits([cited for block in blocks for cited in block.citations], "definition")
    note = f"Quoted “{title_of(paper)}” from where it says what it does."
    return Routed("definition", note, blocks, _with_found(hits, question, [paper], context), "medium", for_llm=True)


def _with_found(hits: Sequence[Hit], question: str, papers: Iterable[Paper], context: RouteContext) -> tuple[Hit, ...]:
    """The passages, and those that a search finds in these papers: a model may have more to say than is quoted."""
    found = context.search(question, replace(context.filters, paper_ids=tuple(one.paper_id for one in papers))).hits
    chunks = dict[int, Hit]()
    for hit in (*hits, *found):
        chunks.setdefault(hit.chunk.chunk_id, hit)
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(chunks.values(), 1))


def _own_thing(paper: Paper, context: RouteContext) -> Routed | None:
    text = PaperText(context.library, paper)
    quotes = SummaryQuotes(text, context.names)
    sentences, is_plain = quotes.definition(_MOST)
    note = f"Chose the sentences of “{title_of(paper)}” that say what it is."
    if not is_plain:
        done = quotes.of(METHOD, _MOST - 1)
        sentences = list(dict.fromkeys([*sentences[:1], *_with_next(done, text)]))
        note = f"No sentence of “{title_of(paper)}” says plainly what it is: these introduce it."
    if not sentences:
        return None
    blocks = tuple(Block("quote", sentence.text, sentence.citations) for sentence in sentences)
    hits = text.hits([cited for sentence in sentences for cited in sentence.citations], "definition")
    return Routed("definition", note, blocks, hits, "high" if is_plain else "medium", for_llm=True)


def _with_next(sentences: Sequence[Sentence], text: PaperText) -> list[Sentence]:
    """The sentences, a short one with the next of its paragraph: "We introduce a new family. Instead of …"."""
    found = list[Sentence]()
    for one in sentences:
        found.append(one)
        after = text.sentences.index(one) + 1
        if len(one.text) < _SHORT and after < len(text.sentences) and text.sentences[after].paragraph == one.paragraph:
            found.append(text.sentences[after])
    return found


def _any_thing(thing: str, places: Iterable[Place], context: RouteContext) -> Routed | None:
    said = _definitions(places)
    if not said:
        return None
    note = f"Looked in {counted(len(context.papers), 'paper')} for sentences that say what “{thing}” is."
    blocks = tuple(
        Block("quote", joined_lines(each.chunk.text[each.span.start : each.span.end]), _citations(each))
        for each in said
    )
    chunks = {each.chunk.chunk_id: each.chunk for each in said}
    hits = tuple(Hit(rank, chunk, 1.0, {}, ("keywords",)) for rank, chunk in enumerate(chunks.values(), 1))
    is_sure = said[0].strength >= 2
    return Routed("definition", note, blocks, hits, "high" if is_sure else "medium", for_llm=True)


def _section_called(thing: str, question: str, places: Iterable[Place], context: RouteContext) -> Routed | None:
    """How the section begins that is called after the thing, where one paper or two have such a section."""
    lines = {(place.chunk.paper_id, _line(place)) for place in places}
    with_it = {paper_id for paper_id, line in lines if _is_called(line, thing)}
    called = [paper for paper in context.papers if paper.paper_id in with_it]
    if len(called) > _FEW_SECTIONS:
        return None
    blocks, hits = list[Block](), list[Hit]()
    for paper in called:
        text = PaperText(context.library, paper)
        section = next((one.section for one in text.sentences if _is_called(one.section.split(" › ")[-1], thing)), None)
        if section is None:
            continue
        begun, length = list[Sentence](), 0
        for one in text.sentences:
            if one.section == section:
                length += len(one.text)
                if begun and length > _SECTION_CHARS:
                    break
                begun.append(one)
        citations = tuple(cited for one in begun for cited in one.citations)
        blocks.append(Block("quote", " ".join(one.text for one in begun), citations, section.split(" › ")[-1]))
        hits += text.hits(citations, "definition")
    if not blocks:
        return None
    note = f"Quoted how the section begins that is called “{thing}”."
    return Routed(
        "definition", note, tuple(blocks), _with_found(hits, question, called, context), "medium", for_llm=True
    )


def _line(place: Place) -> str:
    """The line of the passage that the place is on."""
    text = place.chunk.text
    end = text.find("\n", place.end)
    return text[text.rfind("\n", 0, place.start) + 1 : end if end >= 0 else len(text)]


def _is_called(heading: str, thing: str) -> bool:
    """Whether a heading, without its number and a word for the kind of thing, is the thing's name."""
    number = _NUMBER.match(heading)
    name = heading[number.end() :] if number else heading
    wanted = {tuple(terms(thing)), tuple(terms(_TAIL.sub("", thing)))} - {()}
    return not wanted.isdisjoint({tuple(terms(name)), tuple(terms(_TAIL.sub("", name)))})


def _definitions(places: Iterable[Place]) -> list[_Said]:
    """The sentences that define what stands at these places, the plainest first; each sentence once."""
    spans: dict[int, list[SentenceSpan]] = {}
    best: dict[tuple[int, int], _Said] = {}
    for place in places:
        chunk = place.chunk
        if chunk.chunk_id not in spans:
            spans[chunk.chunk_id] = [span for span in split_sentences(chunk.text) if span.kind == "sentence"]
        span = next((one for one in spans[chunk.chunk_id] if one.start <= place.start < one.end), None)
        if span is None or span.end - span.start > _LONGEST:
            continue
        text = joined_lines(chunk.text[span.start : span.end])
        at = len(joined_lines(chunk.text[span.start : place.start] + "x")) - 1
        strength = _strength(text, at, at + len(joined_lines(chunk.text[place.start : place.end])))
        key = chunk.paper_id, chunk.start + span.start
        if strength and is_sentence(text) and (key not in best or best[key].strength < strength):
            best[key] = _Said(strength, chunk, _with_what_it_means(text[:at], strength, span, spans[chunk.chunk_id]))
    ranked = sorted(best.values(), key=lambda one: (-one.strength, one.chunk.file, one.chunk.start + one.span.start))
    return ranked[:_MOST]


def _with_what_it_means(
    before: str, strength: float, span: SentenceSpan, spans: Sequence[SentenceSpan]
) -> SentenceSpan:
    """The sentence, with the one before it where it only names what that one tells: "We call this X"."""
    n = spans.index(span)
    called = _CALLED.search(before) if strength == 2 and n else None
    if called is None or not _POINTS_BACK.search(called.group()) or span.start - spans[n - 1].start > _LONGEST:
        return span
    return replace(span, start=spans[n - 1].start)


def _strength(text: str, start: int, end: int) -> float:
    """How plainly a sentence defines what stands at that place; 0 where it does not.

    3 for "we define X as" and for "X is a …" at the beginning, 2 for "called X" and "X allows", 1 for "X, a …".
    """
    begins = _BEFORE.fullmatch(text[:start])
    if (begins and _IS.match(text, end)) or (_WE_DEFINE.search(text[:start]) and _AS.match(text, end)):
        return 3.0
    if _CALLED.search(text[:start]) or (begins and _ALLOWS.match(text, end)):
        return 2.0
    return float(tells_what(text, start, end) >= 2.0 and bool(_APPOSITION.match(text, end)))


def _citations(said: _Said) -> tuple[Citation, ...]:
    chunk = said.chunk
    cited = []
    for page, start, end in page_parts(chunk, said.span.start, said.span.end):
        words = chunk.text[start:end].strip()
        begin = chunk.start + chunk.text.index(words, start)
        cited.append(Citation(chunk.file, page, words, True, chunk.path, begin, begin + len(words)))
    return tuple(cited)
