"""Questions of the papers' metadata: who wrote one, when, where, how long it is, its entry for a bibliography."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragscience.ask.asked_papers import (
    PRONOUN,
    bare,
    carried,
    counted,
    first_named,
    listed,
    papers_meant,
    printed_at,
    says_paper,
)
from ragscience.ask.paper_conditions import year_of
from ragscience.ask.paper_lists import list_answer
from ragscience.ask.paper_text import PaperText, Part
from ragscience.ask.router import RouteContext, Routed
from ragscience.core.paper_records import SURE
from ragscience.core.records import Block, Paper, title_of
from ragscience.core.tokenizing import STOP_WORDS, joined_lines
from ragscience.library.filter_selection import plain_name

__all__ = ["ADDRESSES", "addresses", "answer"]

ADDRESSES = {"workplaces": "where its authors work", "e-mail addresses": "the e-mail address of an author"}
"""What may be asked of a paper's authors, in words."""
_WORKPLACE = re.compile(
    r"universi|institut|école|academ(?:y|ia)|\bcolleg|\bschool of|hospital|clinic\b|facult|departe?ment|\bdept\b|"
    r"laborator|\blabs?\b|cent(?:re|er) (?:for|of)|\binc\b|corporation|\bcorp\b|company|\bltd\b|\bgmbh\b|\bllc\b|"
    r"google|microsoft|openai|facebook|\bmeta\b|deepmind|anthropic|nvidia|amazon|\bibm\b|apple\b|"
    r"ministry|secretariat|council\b|agency\b|p\. ?o\. ?box|"
    r"affiliat|while (?:at|interning|with)|\bintern(?:ing|ship)?\b|correspond",
    re.IGNORECASE,
)
_MAIL = re.compile(r"\S@|@\S|\be-?mail:", re.IGNORECASE)
_OTHER = re.compile(
    r"proceedings of|copyright|©|\(c\) |licen[sc]e|received (?:on )?\d|permission (?:to|of)|must be obtained|doi:|"
    r"https?://|preliminary version|this paper is",
    re.IGNORECASE,
)
_DETAILS = re.compile(
    r"(?:[\dA-Z]{1,3}\.?\s+)?author(?:s|['’´]s|s['’´])? (?:details|information|affiliations?|addresses)|"
    r"correspond(?:ence|ing authors?)|affiliations?",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+")
_LONGEST = 900
"""Characters: a longer block of authors has run into the text."""
_MOST_SMALL = 0.3
"""The share of small words from which on it is a sentence, not names and places."""
_MOST = 12


def addresses(fact: str, papers: Sequence[Paper], context: RouteContext) -> Routed:
    """The blocks of each paper's first page, or of its end, that say where its authors work or how they are reached."""
    blocks, found = list[Block](), False
    for paper in papers:
        quotes = _quotes(PaperText(context.library, paper), only_mail=fact == "e-mail addresses")
        title = f"“{' '.join(title_of(paper).split()) or paper.file}” ({paper.file})"
        by = f" was written by {listed(paper.metadata.authors)}" if paper.metadata.authors else ""
        if quotes:
            blocks.append(Block("text", f"The paper {title}{by or ' says of its authors'}:"))
        else:
            blocks.append(Block("text", f"The first page of {title} does not tell {ADDRESSES[fact]}."))
        blocks += quotes
        found = found or bool(quotes)
    note = f"Looked at the first page of {listed([paper.file for paper in papers[:3]])} for {ADDRESSES[fact]}."
    return Routed("papers", note, tuple(blocks), confidence="high" if found else "low")


def _quotes(paper: PaperText, *, only_mail: bool) -> list[Block]:
    """The blocks of the paper that say where its authors work, or `only_mail` those with an address for mail."""
    surnames = {plain_name(author).rpartition(" ")[2] for author in paper.paper.metadata.authors}
    chosen = []
    for part in paper.parts:
        text = joined_lines(part.text)
        if part.kind in ("title", "heading", "reference") or len(text) > _LONGEST or _OTHER.search(text):
            continue
        if only_mail:
            tells = _MAIL.search(text) is not None
        else:
            tells = bool(_MAIL.search(text) or _WORKPLACE.search(text))
            tells = tells or (part.kind != "footnote" and not surnames.isdisjoint(_LETTERS.findall(plain_name(text))))
        if tells and _is_of_authors(part, text):
            chosen.append(Block("quote", text, paper.cite([part])))
    return chosen[:_MOST]


def _is_of_authors(part: Part, text: str) -> bool:
    """Whether it stands where authors and their addresses do: above the abstract, in a footnote there, at the end."""
    if _DETAILS.fullmatch(part.section.rpartition(" › ")[2]) or (part.page == 1 and part.kind == "footnote"):
        return True
    words = text.casefold().split()
    small = sum(word.strip(".,;:()") in STOP_WORDS for word in words)
    return part.page == 1 and (part.kind == "authors" or not part.section) and small < _MOST_SMALL * len(words)


_X = r"(?P<x>.{1,300}?)"
_SHOW = r"(?:(?:what(?: is| are|['’]s)|give|show|get|list|name|find|print) (?:me )?)?(?:the )?"
_OF_AUTHORS = {
    "authors": r"(?:the )?(?:(?:first|last|lead|senior|corresponding) )?(?:authors?|people|researchers) "
    r"(?:of|on|for|behind)",
    "places": r"(?:universit(?:y|ies)|institut(?:ions?|es?)|compan(?:y|ies)|organi[sz]ations?|labs?|hospitals?)",
    "work": r"(?:at|from|in|with|for|(?:work|working|based|employed|affiliated|come)(?: (?:at|for|in|with|by|from))?)",
}
_FACTS = tuple(
    (fact, re.compile(pattern.format(x=_X, show=_SHOW, **_OF_AUTHORS), re.IGNORECASE))
    for fact, pattern in (
        ("authors", r"who (?:has |have )?(?:wrote|written|(?:co-?)?authored|published) {x}"),
        ("authors", r"who(?: are| is| was| were|['’]s) (?:the |behind the )?(?:people )?(?:behind|authors? (?:of|"
                    r"for|on)) {x}"),
        ("{which} author", r"who(?: is| was| are| were|['’]s) the (?P<which>first|last|senior|"
                           r"lead) authors? (?:of|for|on) {x}"),
        ("{which} author", r"{show}(?P<which>first|last|senior|lead) author (?:of|for|on) {x}"),
        ("{which} author", r"who(?: is| was|['’]s) {x}(?:['’]s)? (?P<which>first|last|senior|lead) author"),
        ("authors", r"{show}(?:names? of (?:all )?the )?authors? (?:of|for|on) {x}"),
        ("authors", r"who(?: are| were) {x}['’]s? authors"),
        ("authors", r"who(?: are| were| is| was) (?P<x>the|its|their) authors?"),
        ("authors", r"by whom (?:was|is) {x} (?:written|authored|published)"),
        ("authors", r"{x} (?:was|is) (?:written|authored) by whom"),
        ("workplaces", r"(?:(?:at|in|for|from) )?(?:what|which) {places} (?:are|were|is|was|do|did|does) {authors} {x}"
                       r"(?: {work})?"),
        ("workplaces", r"where (?:are|were|is|was|do|did|does) {authors} {x}(?: {work})?"),
        ("workplaces", r"where (?:are|were|do|did) (?:the )?{x} authors?(?: {work})?"),
        ("workplaces", r"(?:(?:at|in|for) )?(?:what|which) {places} (?:are|were|do|did) (?:the )?{x} authors?"
                       r"(?: {work})?"),
        ("workplaces", r"{show}(?:affiliations?|institutions?|employers?) of {authors} {x}"),
        ("workplaces", r"{show}(?:authors?['’]?s? )?affiliations? (?:of|for|in|on) {x}"),
        ("workplaces", r"who employ(?:s|ed) {authors} {x}"),
        ("workplaces", r"(?:what|which) {places} (?:is|are|was|were) behind {x}"),
        ("workplaces", r"(?:at|in) (?:what|which) {places} was {x} (?:written|done|made|developed|created)"),
        ("e-mail addresses", r"{show}(?:e-?mail|contact)(?: address(?:es)?| details)? (?:of|for) {authors} {x}"),
        ("e-mail addresses", r"how (?:can|do|could) (?:i|one|we|you) (?:contact|reach|write to|e-?mail) {authors} {x}"),
        ("e-mail addresses", r"who(?: is| are|['’]s) the corresponding authors? (?:of|for|on) {x}"),
        ("number of authors", r"how many (?:co-?)?authors (?:does|did|do|has|have|are (?:there )?(?:on|of|for)|"
                              r"wrote) {x}(?: have)?"),
        ("year", r"when (?:was|is) {x} (?:first )?(?:published|written|released|submitted|presented|posted|from)"),
        ("year", r"when did {x} (?:first )?(?:come out|appear|get published)"),
        ("year", r"(?:in |from )?(?:what|which) year (?:was|is|did|does) {x} (?:first )?(?:published|from|written|"
                 r"come out|appear|released|presented|submitted)"),
        ("year", r"{show}(?:publication )?(?:year|date)(?: of publication)? (?:of|for) {x}"),
        ("year", r"how old is {x}"),
        ("venue", r"where (?:was|is|did|has) {x} (?:been )?(?:first )?(?:published|presented|appear(?:ed)?)"),
        ("venue", r"(?:at |in )?(?:what|which) (?:venue|conference|journal|workshop|proceedings) (?:was|is|did|"
                  r"published) {x}(?: (?:published|presented|appear|from|in|at|come out)(?: in| at)?)?"),
        ("venue", r"{show}(?:venue|journal|conference) (?:of|for) {x}"),
        ("DOI", r"{show}doi (?:of|for) {x}"),
        ("DOI", r"(?:does|has) {x} (?:have |got )?an? doi"),
        ("arXiv id", r"{show}arxiv(?:[ -](?:id|identifier|number|link|url|page|address|version))?(?: id)? (?:of|"
                     r"for) {x}"),
        ("arXiv id", r"is {x} on arxiv"),
        ("title", r"{show}(?:full |exact |whole |complete )?title of {x}"),
        ("title", r"what is {x}['’]s (?:full |exact )?title"),
        ("pages", r"how many pages (?:does|do|has|have|are (?:there )?in|is|long is) {x}(?: have| long)?"),
        ("pages", r"how long is {x}"),
        ("pages", r"{show}(?:number of pages|page count|length) (?:of|in|for) {x}"),
        ("passages", r"how many (?:passages|chunks) (?:does|do|has|have|are (?:there )?in) {x}(?: have)?"),
        ("entry", r"{show}(?:full )?(?:bibtex|bib|citation|bibliograph(?:ic|ical|y)|reference)(?:[ -](?:entry|key|"
                  r"record|reference))? (?:of|for|to) {x}"),
        ("entry", r"(?:how (?:do|can|should|would|shall) (?:i|one|we|you) |how to )?cite {x}"),
        ("entry", r"bibtex {x}"),
    )
)  # fmt: skip
_IT = r"(?: (?:was|is|did) (?:it|this|that) (?:first )?(?:published|written|released|presented|come out|appear))?"
_YEAR_TOO = r"(?P<year>when|(?:in )?(?:what|which) year)"
_VENUE_TOO = r"(?P<venue>where|(?:at |in )?(?:what|which) (?:venue|conference|journal))"
_AUTHORS_TOO = r"(?P<authors>who wrote (?:it|this|that)|who (?:are|were) (?:its|the) authors|by whom)"
_TOO = (
    re.compile(rf"(?P<first>.{{5,300}}?),? and (?:{_YEAR_TOO}|{_VENUE_TOO}|{_AUTHORS_TOO}){_IT}", re.IGNORECASE),
    re.compile(r"(?P<first>when)(?P<venue> and where)(?P<rest> .{3,300})", re.IGNORECASE),
    re.compile(r"(?P<first>where)(?P<year> and when)(?P<rest> .{3,300})", re.IGNORECASE),
)
"""A question for two facts: "Who wrote X, and when?", "When and where was X published?"."""
_MEANS_THING = ("how long is", "how old is")
"""Asked of a name without the word paper, this means the thing that the name stands for."""


def answer(question: str, context: RouteContext) -> Routed | None:
    """What the metadata says of the papers that the question names, or the papers that fit what it asks for."""
    before, asked = carried(bare(question))
    first, too = _split(asked)
    for fact, pattern in _FACTS:
        found = pattern.fullmatch(first)
        if found is not None:
            routed = _facts((fact, too), found, before, context)
            if routed is not None:
                return routed
    return list_answer(bare(question), context) or (list_answer(bare(asked), context) if before else None)


def _split(asked: str) -> tuple[str, str]:
    """The question for the first fact, and the second fact that it asks for, empty where it asks for one alone."""
    for pattern in _TOO:
        found = pattern.fullmatch(asked)
        if found is not None:
            facts = {name: value for name, value in found.groupdict().items() if name not in ("first", "rest")}
            too = next(name for name, value in facts.items() if value)
            return found["first"] + (found.groupdict().get("rest") or ""), too
    return asked, ""


def _facts(facts: tuple[str, str], found: re.Match[str], before: str, context: RouteContext) -> Routed | None:
    fact, too = facts
    text = found["x"]
    is_pronoun = PRONOUN.fullmatch(re.sub(r"\s*\b(?:papers?|articles?)$", "", text, flags=re.IGNORECASE))
    if found.string.casefold().startswith(_MEANS_THING) and not says_paper(found["x"]):
        return None
    if is_pronoun:
        papers = first_named(before, context) or (context.papers if len(context.papers) == 1 else ())
    else:
        papers = papers_meant(text, context)
    if not papers:
        return None if is_pronoun else _not_known(text, context)
    which = found.groupdict().get("which") or ""
    if fact in ADDRESSES:
        return addresses(fact, papers, context)
    blocks = [_fact(fact.format(which=which), paper, context) for paper in papers]
    if too and too != fact and fact != "entry":
        blocks = [
            each
            for paper, block in zip(papers, blocks, strict=True)
            for each in (block, *_second_fact(too, fact, paper, context))
        ]
    if len(papers) > 1:
        intro = Block("text", f"{len(papers)} papers go by that name:")
        blocks = [intro, *(Block("item", block.text, block.citations) for block in blocks)]
    if fact == "entry":
        from ragscience.sources.bib_entries import entries_of
        from ragscience.sources.bib_formats import as_bibtex

        entries = entries_of(papers, context.library.papers())
        blocks = [Block("text", f"```bibtex\n{as_bibtex(entries).strip()}\n```")]
        files = " ".join(paper.file for paper in papers)
        blocks.append(Block("text", f"`python query.py bib {files}` prints the same, `--csl` as CSL-JSON."))
    is_sure = fact in ("pages", "passages") or all(_sure(fact, paper) >= SURE for paper in papers)
    note = f"Read from the metadata of {listed([paper.file for paper in papers[:3]])}."
    return Routed("papers", note, tuple(blocks), confidence="high" if is_sure else "medium")


_FIELDS = {"year": "year", "venue": "venue", "DOI": "doi", "arXiv id": "arxiv_id", "title": "title", "entry": "title"}


def _sure(fact: str, paper: Paper) -> float:
    """The confidence of the field that the fact is read from; 0 where it is not known."""
    name = _FIELDS.get(fact, "authors")
    return paper.metadata.confidence.get(name, 1.0) if getattr(paper.metadata, name) else 0.0


def _fact(fact: str, paper: Paper, context: RouteContext) -> Block:
    """The sentence that says it, with the line of the first page where it is printed."""
    known, title = paper.metadata, f"“{' '.join(title_of(paper).split()) or paper.file}”"
    words: list[str] = []
    if fact == "pages":
        return Block("text", f"The paper {title} ({paper.file}) has {counted(paper.pages, 'page')}.")
    if fact == "passages":
        said = f"The paper {title} ({paper.file}) has {counted(paper.chunks, 'passage')} in the library."
        return Block("text", said)
    if fact == "year":
        year, is_guess = year_of(paper)
        text = f"{title} is from {year}" if year else f"The year of {title} is not known"
        if year and is_guess:
            text += ": its first page does not say so, its arXiv id or its file's name does"
        text += f", at {known.venue}" if year and known.venue else ""
        text += f" (first version {known.published})" if known.published else ""
        words = [str(year)] if year and not is_guess else []
    elif fact == "venue":
        where = " ".join(filter(None, (known.venue, str(known.year or ""))))
        text = (
            f"{title} was published {'in' if known.kind == 'article' else 'at'} {where}"
            if known.venue
            else f"Where {title} was published is not known"
        )
        if not known.venue and known.arxiv_id:
            text += f"; it is on arXiv as {known.arxiv_id}"
        words = [known.venue, known.doi] if known.venue else [known.arxiv_id]
    elif fact in ("DOI", "arXiv id"):
        value = known.doi if fact == "DOI" else known.arxiv_id
        other = known.arxiv_id if fact == "DOI" else known.doi
        text = f"The {fact} of {title} is {value}" if value else f"The {fact} of {title} is not known"
        text += f"; its {'arXiv id' if fact == 'DOI' else 'DOI'} is {other}" if other and not value else ""
        words = [value or other]
    elif fact == "title":
        text = f"{paper.file} is {title}"
        words = known.title.split()[:1]
    else:
        text = _authors(fact, title, known.authors)
        words = [known.authors[0], known.authors[0].split()[-1]] if known.authors else []
    doubt = " This is not sure: it was hard to read." if 0 < _sure(fact, paper) < SURE else ""
    citations = printed_at(context.library, paper, words)
    if not citations and paper.file not in text:
        text = text.replace(title, f"{title} ({paper.file})")
    text = f"The paper {text}" if text.startswith(title) else text  # what begins with “ is read as a quote later
    return Block("text", f"{text}.{doubt}", citations)


def _second_fact(too: str, fact: str, paper: Paper, context: RouteContext) -> tuple[Block, ...]:
    """The sentence that says it of "it"; none where the year's sentence has named the venue."""
    if fact == "year" and too == "venue" and paper.metadata.year and paper.metadata.venue:
        return ()
    block = _fact(too, paper, context)
    title = f"“{' '.join(title_of(paper).split()) or paper.file}”"
    for name in (f"{title} ({paper.file})", title):
        text = block.text.removeprefix("The paper ")
        if text.startswith(name):
            return (Block("text", f"It{text[len(name) :]}", block.citations),)
    return (block,)


def _authors(fact: str, title: str, authors: tuple[str, ...]) -> str:
    if not authors:
        return f"The authors of {title} are not known"
    which = fact.split()[0]
    if which in ("first", "lead", "last", "senior"):
        one = authors[0] if which in ("first", "lead") else authors[-1]
        others = f" (of {len(authors)})" if len(authors) > 1 else ""
        return f"The {which} author of {title} is {one}{others}"
    if fact == "number of authors":
        return f"{title} has {counted(len(authors), 'author')}: {listed(authors)}"
    return f"{title} was written by {listed(authors)}"


def _not_known(text: str, context: RouteContext) -> Routed | None:
    """That no paper goes by that name, where the question speaks of a paper, or of one word with a capital."""
    name = re.sub(r"^(?:the|a|an|my) |\b(?:papers?|articles?|pdf|preprint)\b", "", text, flags=re.IGNORECASE)
    name = " ".join(name.split()).strip("“”\"' ")
    is_named = name[:1].isupper() and " " not in name
    if not name or not (says_paper(text) or is_named) or len(name.split()) > 4 or context.names.in_text(text):
        return None
    hint = f"“Which papers mention {name}?” looks for it in the texts."
    said = f"No paper of the library goes by the name “{name}”. {hint}"
    return Routed("papers", f"Looked for a paper called “{name}”.", (Block("text", said),), nothing_found=True)
