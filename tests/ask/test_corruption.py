"""Right answers, then the same answers spoilt: pages swapped, numbers and names changed, files invented.

The check must flag what was spoilt (take the citation out, put the right page back, or not call it supported) and leave
the rest alone. Once on a small corpus of our own; and, where the shared papers are, on their questions and evidence.
"""

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from ragscience.ask.check import check
from ragscience.core.records import Hit
from tests.ask.passages import hit
from tests.ask.span_reading import read

INVENTED_FILE = "smith_2019_survey.pdf"
INVENTED_NAMES = ("Zephyrion", "QRXT", "Valdorra")


@dataclass(frozen=True)
class Case:
    """A sentence that is right: what it says, the pages behind it, the passages given."""

    kind: str
    claim: str
    places: tuple[tuple[str, int], ...]
    hits: tuple[Hit, ...]
    also: frozenset[tuple[str, int]] = frozenset()
    """Other pages that say the same."""
    wanted: tuple[str, ...] = ()
    """A page that has all of these may say the same."""

    def text(self, claim=None, places=None):
        shown = " ".join(f"({file}, p.{page})" for file, page in places or self.places)
        return f"{claim or self.claim} {shown}."


def tight(text):
    """Letters, digits and signs without blanks and hyphens."""
    plain = unicodedata.normalize("NFKC", text.replace("\u00ad", "")).casefold()
    return re.sub(r"[\s\x00-\x1f\-\u2010-\u2015\u2212‘’'“”\"]+", "", plain)


def pages_of(one):
    """{page: its text} of a hit."""
    ends = [offset for offset, _ in one.chunk.page_breaks[1:]] + [len(one.chunk.text)]
    return {page: one.chunk.text[start:end] for (start, page), end in zip(one.chunk.page_breaks, ends, strict=True)}


def given_pages(case):
    """{(file, page): text} of all passages given."""
    pages = {}
    for each in case.hits:
        for page, text in pages_of(each).items():
            place = (each.chunk.file, page)
            pages[place] = f"{pages.get(place, '')}\n{text}"
    return pages


def says_it_too(case, text):
    squeezed = tight(text)
    wanted = [tight(each) for each in case.wanted]
    return tight(case.claim).strip(".") in squeezed or (bool(wanted) and all(each in squeezed for each in wanted))


def spoilt(case):
    """(how, text) of each way to spoil a case; the same every time."""
    pages = given_pages(case)
    wrong = [
        place
        for place, text in pages.items()
        if place not in case.places
        and place not in case.also
        and len(text.strip()) > 100
        and not says_it_too(case, text)
    ]
    here, rest = case.places[-1], case.places[:-1]
    same = [place for place in wrong if place[0] == here[0]]
    other = [place for place in wrong if place[0] != here[0]]
    for how, places in (("page of the same paper", same), ("page of another paper", other)):
        for place in places[:2]:
            yield how, case.text(places=(*rest, place))
    yield "invented file", case.text(places=(*rest, (INVENTED_FILE, here[1])))
    yield from (("changed number", case.text(claim)) for claim in changed_numbers(case.claim))
    own = "\n".join(pages.get(place, "") for place in case.places)
    yield from (("number of the same page", case.text(claim)) for claim in borrowed_numbers(case.claim, own))
    yield from (("invented name", case.text(claim)) for claim in changed_names(case.claim))


NUMBER = re.compile(r"(?<![\w.,(\[])\d+(?:[.,]\d+)*(?![\d])")
NAME = re.compile(r"(?<=[a-z,] )(?!(?:I|A|The|In|Our|We)\b)(?:[A-Z][a-z]{2,}|[A-Z]{2,}[A-Za-z]*)(?![\w])")


def changed_numbers(claim):
    """The claim with one of its numbers become another, which is not in it; for the first and the last of them."""
    found = list(NUMBER.finditer(claim))
    for match in dict.fromkeys(found[:1] + found[-1:]):
        digits = match.group()
        other = f"{(int(digits[0]) + 3) % 9 + 1}{digits[1:]}"
        if other not in claim:
            yield claim[: match.start()] + other + claim[match.end() :]


def borrowed_numbers(claim, page):
    """The claim with one of its numbers become another of the same page."""
    own = {match.group() for match in NUMBER.finditer(claim)}
    others = [m.group() for m in NUMBER.finditer(page) if m.group() not in own and len(m.group()) > 1]
    for match in list(NUMBER.finditer(claim))[:1]:
        alike = [each for each in others if ("." in each) == ("." in match.group())]
        if alike:
            yield claim[: match.start()] + alike[len(alike) // 2] + claim[match.end() :]


def changed_names(claim):
    for number, match in enumerate(list(NAME.finditer(claim))[:2]):
        yield claim[: match.start()] + INVENTED_NAMES[number % len(INVENTED_NAMES)] + claim[match.end() :]


def verdict_of(text, hits):
    """("dropped" | "corrected" | the worst verdict of its sentences, the result)."""
    checked = check(text, hits, read=read)
    if checked.unknown:
        return "dropped", checked
    if checked.corrected:
        return "corrected", checked
    verdicts = {sentence.verdict for sentence in checked.sentences} - {"no-claim"}
    for worst in ("unsupported", "weak", "supported"):
        if worst in verdicts:
            return worst, checked
    return "nothing", checked


OURS = {
    ("lantern.pdf", 1): """\
We present Lantern, a sparse retriever for long technical reports. Lantern stores 64 weights a passage and answers a
query in 12 milliseconds on one core. Unlike earlier systems it does not need a graphics card.""",
    ("lantern.pdf", 4): """\
Lantern was trained on the Corvid collection, which holds 48,000 passages of 1,310 reports. Training took 9 hours with a
batch size of 256 and a learning rate of 0.0003. We did not remove duplicates, because fewer than 2% of the passages
occur twice.""",
    ("lantern.pdf", 6): """\
Table 2: Recall at ten on Corvid.
Model
Recall
Size
BM25
61.4
0.2 GB
Lantern
74.9
0.9 GB
Halyard
73.8
6.1 GB
The gap between Lantern and Halyard is within the noise of three runs, while both are clearly better than BM25.""",
    ("halyard.pdf", 2): """\
Halyard encodes each sentence with a transformer of 12 layers and keeps vectors of 384 numbers. Its index is compressed
with product quantization to 6.1 GB. Halyard increases recall on rare terms, but decreases throughput by 35% compared
with BM25.""",
    ("halyard.pdf", 5): """\
All experiments ran on a Kestrel workstation with 32 GB of memory. Queries were taken from the logs of the Osprey
library in 2016 and filtered by hand, which left 2,450 of them. No query was longer than 40 words.""",
    ("soil.pdf", 3): """\
Soil moisture was measured at 18 sites in Lower Franconia between April and September. The mean was 23.7% at a depth of
10 cm and 31.2% at 50 cm. Sensors by Decagon failed at two sites after heavy rain.""",
}
"""(file, page): what stands there; of papers that don't exist."""

RIGHT = [
    ("Lantern stores 64 weights a passage and answers a query in 12 milliseconds on one core", ("lantern.pdf", 1)),
    ("Unlike earlier systems, Lantern does not need a graphics card", ("lantern.pdf", 1)),
    ("A query takes Lantern 12 milliseconds on one core", ("lantern.pdf", 1)),
    ("The model Lantern was trained on the Corvid collection of 48,000 passages", ("lantern.pdf", 4)),
    ("Training took 9 hours with a batch size of 256", ("lantern.pdf", 4)),
    ("Duplicates were not removed, because fewer than 2% of the passages of Corvid occur twice", ("lantern.pdf", 4)),
    ("On Corvid, the recall of Lantern is 74.9 with a size of 0.9 GB", ("lantern.pdf", 6)),
    ("“Halyard 73.8 6.1 GB”", ("lantern.pdf", 6)),
    ("In three runs the gap between Lantern and Halyard is within the noise", ("lantern.pdf", 6)),
    ("Each sentence is encoded by Halyard with a transformer of 12 layers", ("halyard.pdf", 2)),
    ("Compared with BM25, Halyard decreases throughput by 35%", ("halyard.pdf", 2)),
    ("The index of Halyard is compressed with product quantization", ("halyard.pdf", 2)),
    ("All experiments ran on a Kestrel workstation with 32 GB of memory", ("halyard.pdf", 5)),
    ("The logs of the Osprey library in 2016 gave 2,450 queries after filtering by hand", ("halyard.pdf", 5)),
    ("No query was longer than 40 words", ("halyard.pdf", 5)),
    ("“Soil moisture was measured at 18 sites in Lower Franconia between April and September.”", ("soil.pdf", 3)),
    ("The mean soil moisture was 23.7% at a depth of 10 cm and 31.2% at 50 cm", ("soil.pdf", 3)),
    ("After heavy rain, the sensors by Decagon failed at two sites", ("soil.pdf", 3)),
]


def our_cases():
    hits = tuple(
        hit(text, file=file, page=page, rank=rank, start=page * 10_000)
        for rank, ((file, page), text) in enumerate(OURS.items(), 1)
    )
    return [Case("ours", claim, (place,), hits) for claim, place in RIGHT]


def test_spoilt_answers_on_our_own_papers_are_flagged():
    tally = Tally(our_cases())
    flagged, total = tally.flagged()
    assert total >= 100
    assert flagged >= 0.95 * total, tally.report()


def test_right_answers_on_our_own_papers_are_left_alone():
    tally = Tally(our_cases())
    warned, total = tally.warned()
    assert warned <= 0.05 * total, tally.report()


def test_negations_and_comparisons_turned_round_are_not_supported():
    turned = [
        ("Unlike earlier systems, Lantern does need a graphics card", ("lantern.pdf", 1)),
        ("We did remove duplicates, because fewer than 2% of the passages occur twice", ("lantern.pdf", 4)),
        ("We did not remove duplicates, because more than 2% of the passages occur twice", ("lantern.pdf", 4)),
        ("Both are clearly worse than BM25", ("lantern.pdf", 6)),
        (
            "Halyard decreases recall on rare terms, but increases throughput by 35% compared with BM25",
            ("halyard.pdf", 2),
        ),
        ("No query was shorter than 40 words", ("halyard.pdf", 5)),
    ]
    hits = our_cases()[0].hits
    outcomes = {claim: verdict_of(Case("", claim, (place,), hits).text(), hits)[0] for claim, place in turned}
    assert set(outcomes.values()) <= {"weak", "unsupported"}, outcomes


def wilson(successes, n):
    """95 % interval of a share (Wilson 1927)."""
    z, share = 1.959964, successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


class Tally:
    """Outcomes by how a case was spoilt; "untouched" where it was not."""

    def __init__(self, cases):
        self.outcomes = {}
        self.texts = []
        for case in cases:
            for how, text in (("untouched", case.text()), *spoilt(case)):
                outcome, checked = verdict_of(text, case.hits)
                self.outcomes.setdefault(how, Counter())[outcome] += 1
                self.texts.append((case.kind, how, outcome, text, checked))

    def flagged(self, *hows):
        """(not supported, all) of these; of all that was spoilt, when none is named."""
        chosen = [self.outcomes[how] for how in (hows or set(self.outcomes) - {"untouched"}) if how in self.outcomes]
        total = sum(sum(each.values()) for each in chosen)
        return total - sum(each["supported"] + each["nothing"] for each in chosen), total

    def warned(self):
        """(warned of, all) of what was not spoilt: neither supported nor weak."""
        flagged, total = self.flagged("untouched")
        return flagged - self.outcomes["untouched"]["weak"], total

    def report(self):
        lines = []
        for how in sorted(self.outcomes):
            flagged, total = self.flagged(how)
            low, high = wilson(flagged, total)
            lines.append(f"{how:25} flagged {flagged:4} of {total:4} = {flagged / total:.3f} [{low:.3f}, {high:.3f}]")
            lines[-1] += f"  {dict(self.outcomes[how])}"
        flagged, total = self.flagged()
        low, high = wilson(flagged, total)
        return "\n".join([*lines, f"all spoilt: {flagged} of {total} = {flagged / total:.3f} [{low:.3f}, {high:.3f}]"])
