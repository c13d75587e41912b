"""What the reader marked in the papers and wrote to them: the reader's own words, never a paper's."""

from dataclasses import replace

from ragscience.ask.intents import kinds
from ragscience.ask.route_records import RouteContext, Routed, short_label
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import note_text
from ragscience.core.records import NOTE, Block, Citation
from ragscience.core.tokenizing import counted, terms

_MOST_SHOWN = 12


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed:
    """The notes with the words that are asked about, else those that are nearest; of the papers that are named."""
    named = tuple(paper.paper_id for paper in slots.papers)
    filters = replace(context.filters, kinds=(NOTE,), paper_ids=named or context.filters.paper_ids)
    every = context.library.select(filters)
    subject = _subject(kind, slots)
    note = "Looked through what you marked and wrote in your papers."
    if every is None or not every.size:
        where = f" in {short_label(slots.papers[0])}" if named else ""
        said = f"I found no notes or marks of yours{where}: they come from Zotero, and from PDFs that you marked."
        return Routed("notes", note, (Block("text", said),), nothing_found=True)
    hits = context.search(subject or slots.question, filters).hits
    wanted = set(terms(subject))
    having = [hit for hit in hits if wanted and wanted & set(terms(hit.chunk.text))]
    shown = (having if wanted and having else hits)[:_MOST_SHOWN]
    about = f" about “{subject}”" if subject and having else ""
    said = (
        f"You wrote or marked{about}:" if having or not subject else f"No note of yours has “{subject}”; nearest are:"
    )
    blocks = [Block("text", said)]
    for hit in shown:
        chunk = hit.chunk
        cited = Citation(chunk.file, chunk.page_start, chunk.text, False, chunk.path, chunk.start, chunk.end)
        blocks.append(Block("item", note_text(chunk), (cited,)))
    if len(shown) < every.size:
        blocks.append(
            Block("text", f"There are {counted(int(every.size), 'note')} in all: `--kind note` searches them.")
        )
    return Routed("notes", note, tuple(blocks), tuple(shown), "high" if having or not subject else "low")


def _subject(kind: str, slots: Slots) -> str:
    """The words of the question that no example of such questions has; no names of papers."""
    examples = next(one.examples for one in kinds() if one.name == kind)
    asking = {word for text in examples for word in terms(text)}
    words = slots.without_names.rstrip(" ?.!").split()
    return " ".join(word.strip(',;:"“”') for word in words if terms(word) and not set(terms(word)) & asking)
