"""How good the first passages are: evidence on the right page, and nDCG@10 on judged sets, through what a user calls.

any@k: a page with the evidence, or an alternative page, among the first k passages; full@k: each evidence item covered.
A follow-up is asked as query.py asks it, made to stand alone; the baseline, which cannot, gets its bare question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import JudgedSet, dev_questions, judged_set
from benchmarks.libraries import baseline_store, judged_home, judged_store, papers_home, session
from benchmarks.report import Report, Table, cell
from benchmarks.running import Options

TITLE = "Retrieval quality"
DEPTH = 20
KS = (1, 4, 20)
SETS = ("scifact", "cranfield")


@dataclass(frozen=True)
class Place:
    """Where a passage is from."""

    file: str
    first_page: int
    last_page: int


Search = Callable[[str], Sequence[Place]]
"""The first DEPTH passages for a question, best first."""
WAYS: dict[str, dict[str, Any]] = {
    "default": {"rerank": "off"},
    "default + late interaction": {"rerank": "late-interaction"},
    "rrf": {"profile": "rrf", "rerank": "off"},
    "rrf + late interaction": {"profile": "rrf", "rerank": "late-interaction"},
    "balanced": {"profile": "balanced"},
    "0.5 / 0.5 of 100": {"dense_weight": 0.5, "bm25_weight": 0.5, "top_k_candidates": 100, "rerank": "off"},
    "0.5 / 0.5 of 100 + late interaction": {
        "dense_weight": 0.5,
        "bm25_weight": 0.5,
        "top_k_candidates": 100,
        "rerank": "late-interaction",
    },
}


def run(options: Options) -> Report:
    """Evidence recall on the development questions, and nDCG@10 on the judged sets."""
    del options
    tables: list[Table] = []
    figures: dict[str, Any] = {}
    questions = dev_questions()
    if questions:
        tables += list(_evidence_tables(questions, figures))
    rows: dict[str, list[str]] = {}
    present = [judged for judged in map(judged_set, SETS) if judged is not None]
    for judged in present:
        for name, value in _ndcg_of(judged):
            figures[f"{judged.name} nDCG@10, {name}"] = value
            rows.setdefault(name, []).append(cell(value))
    if present:
        columns = ["search", *(f"{judged.name} ({len(judged.queries)} queries)" for judged in present)]
        tables.append(Table("nDCG@10", columns, [[name, *cells] for name, cells in rows.items()], note=CHECKED))
    return Report("quality", TITLE, tables, figures)


CHECKED = "Computed by ir_measures, which agreed with scikit-learn's ndcg_score to 1e-9 in this run."


def _searches(home: Path, store: Path) -> Iterator[tuple[str, Search]]:
    from benchmarks.baseline import Baseline

    baseline = Baseline(store)

    def plain(question: str) -> list[Place]:
        hits = baseline.search(question, rerank=False, top_k=DEPTH)
        return [
            Place(doc.metadata["source"], doc.metadata["page"], doc.metadata.get("last_page", doc.metadata["page"]))
            for doc, _ in hits
        ]

    yield "baseline (the plain guide)", plain
    with session(home, wanted=DEPTH, rerank="off") as one:
        library = one.library

        def places(ids: NDArray[np.int64]) -> list[Place]:
            return [Place(chunk.file, chunk.page_start, chunk.page_end) for chunk in library.chunks(ids.tolist())]

        yield "BM25 alone", lambda question: places(library.keywords.search(question, DEPTH, None)[0])
        yield (
            "dense alone",
            lambda question: places(library.dense.search(one.embedder.embed_query(question), DEPTH, None)[0]),
        )
    for name, settings in WAYS.items():
        with ExitStack() as stack:
            opened = stack.enter_context(session(home, wanted=DEPTH, **settings))
            yield name, _through(opened)


def _through(opened: Any) -> Search:
    from ragscience.engine import asking
    from ragscience.engine.requests import SearchRequest

    def search(question: str) -> list[Place]:
        hits = asking.search(opened.shared, SearchRequest(question, top_k=DEPTH)).hits
        return [Place(hit.chunk.file, hit.chunk.page_start, hit.chunk.page_end) for hit in hits]

    return search


# Evidence


def _evidence_tables(questions: list[dict[str, Any]], figures: dict[str, Any]) -> Iterator[Table]:
    home, store = papers_home(), baseline_store()
    found = {}
    for name, search in _searches(home, store):
        found[name] = _evidence(questions, [search(item["question"]) for item in questions])
    measures = [f"{kind}@{k}" for k in KS for kind in ("any", "full")]
    rows = [[name, *(_with_interval(values[measure]) for measure in measures)] for name, values in found.items()]
    for name, values in found.items():
        figures[f"evidence, {name}"] = {measure: float(values[measure].mean()) for measure in measures}
    yield Table(
        f"Evidence pages, {len(questions)} questions",
        ["search", *measures],
        rows,
        note="In brackets: 95 % bootstrap interval.",
    )
    best = found["default + late interaction"]
    types = sorted({item["type"] for item in questions})
    per_type = []
    for kind in types:
        rows_of = np.array([item["type"] == kind for item in questions])
        per_type.append(
            [kind, str(int(rows_of.sum())), *(_with_interval(best[measure][rows_of]) for measure in measures)]
        )
    yield Table(
        "By type of question, default + late interaction", ["type", "questions", *measures], per_type, detail=True
    )


def _evidence(questions: list[dict[str, Any]], results: list[Sequence[Place]]) -> dict[str, NDArray[np.float64]]:
    """For each measure 0 or 1 a question."""
    values: dict[str, list[bool]] = {f"{kind}@{k}": [] for k in KS for kind in ("any", "full")}
    for item, places in zip(questions, results, strict=True):
        wanted = [{(evidence["file"], evidence["page"])} for evidence in item["evidence"]]
        for other in item["alternatives"]:
            wanted[other.get("for", 0)].add((other["file"], other["page"]))
        for k in KS:
            covered = [any(_holds(place, pages) for place in places[:k]) for pages in wanted]
            values[f"any@{k}"].append(any(covered))
            values[f"full@{k}"].append(all(covered))
    return {name: np.array(each, np.float64) for name, each in values.items()}


def _holds(place: Place, pages: set[tuple[str, int]]) -> bool:
    return any((place.file, page) in pages for page in range(place.first_page, place.last_page + 1))


def _with_interval(values: NDArray[np.float64]) -> str:
    draws = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return f"{values.mean():.3f} ({low:.2f}–{high:.2f})"


# nDCG


def _ndcg_of(judged: JudgedSet) -> Iterator[tuple[str, float]]:
    ids = [key for key, text in zip(judged.document_ids, judged.texts, strict=True) if text]
    for name, search in _searches(judged_home(judged), judged_store(judged)):
        runs = {key: [ids[place.first_page - 1] for place in search(text)] for key, text in judged.queries.items()}
        yield name, ndcg_at_10(judged.qrels, runs)


def ndcg_at_10(qrels: dict[str, dict[str, int]], ranked: dict[str, list[str]]) -> float:
    """The mean over all judged queries, by ir_measures; raises ValueError unless scikit-learn's says the same."""
    import ir_measures
    from ir_measures import nDCG
    from sklearn.metrics import ndcg_score

    scored = {
        query: {document: float(-rank) for rank, document in enumerate(documents)}
        for query, documents in ranked.items()
    }
    value = float(ir_measures.calc_aggregate([nDCG @ 10], qrels, scored)[nDCG @ 10])
    other = []
    for query, grades in qrels.items():
        found = ranked.get(query, [])[:10]
        documents = [*found, *(document for document in grades if document not in found), "pad"]
        truth = [grades.get(document, 0) for document in documents]
        order = [-float(place) for place in range(len(documents))]
        order[len(found) :] = [-1e6] * (len(documents) - len(found))
        other.append(_capped(ndcg_score, truth, order, len(found)))
    if abs(value - float(np.mean(other))) > 1e-9:
        raise ValueError(f"nDCG@10 is {value} by ir_measures and {np.mean(other)} by scikit-learn.")
    return value


def _capped(ndcg_score: Any, truth: list[int], order: list[float], found: int) -> float:
    """scikit-learn's nDCG@10, with ranks below `found` filled by documents of no worth, as a short list has none."""
    if not any(truth):
        return 0.0
    filler = max(0, 10 - found)
    padded = [*truth[:found], *[0] * filler, *truth[found:]]
    places = [*order[:found], *[-1e3 - place for place in range(filler)], *order[found:]]
    return float(ndcg_score([padded], [places], k=10))
