"""How often extraction without an LLM is right: a sample drawn by chance, judged passage by passage by a reader.

100 entities and 50 typed relations of the 24 papers of the shared data, drawn with a fixed seed after the rules were
final; the samples that the rules were made with were others.
"""

import csv
from pathlib import Path

import pytest

from ragscience.core.records import StoredChunk
from ragscience.graph.graph_records import ENTITY_TYPES, RELATION_TYPES, canonical
from ragscience.graph.local_extraction import extract
from ragscience.graph.paper_terms import paper_terms
from ragscience.reading.chunking import chunk_document
from tests.shared_data import needs_shared_data, shared_papers

GOLD = Path(__file__).parent / "gold"
READ = "resnet_1512.03385.pdf"
"""The paper that is read again: short, and with many of the sampled items."""


def sample(name):
    with (GOLD / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def share(rows):
    assert {row["verdict"] for row in rows} == {"right", "wrong"}
    return sum(row["verdict"] == "right" for row in rows) / len(rows)


def test_the_sampled_entities_are_right_often_enough():
    rows = sample("entities.tsv")
    assert len(rows) == 100
    assert {row["type"] for row in rows} <= set(ENTITY_TYPES)
    assert all(row["reason"] for row in rows)
    assert share(rows) >= 0.80


def test_the_sampled_relations_are_right_often_enough():
    rows = sample("relations.tsv")
    assert len(rows) == 50
    assert {row["relation"] for row in rows} <= set(RELATION_TYPES)
    assert all(row["reason"] for row in rows)
    assert share(rows) >= 0.70


@pytest.fixture(scope="module")
def found():
    document = shared_papers()[READ]
    chunks = [
        StoredChunk(
            chunk.ordinal, 1, READ, READ, chunk.ordinal, chunk.text, chunk.start, chunk.end, chunk.page_start,
            chunk.page_end, chunk.section, chunk.kind, ((0, chunk.page_start),), chunk.header,
        )
        for chunk in chunk_document(document, size=1500, overlap=200, separators=("\n\n", "\n", ". ", " ", ""))
    ]  # fmt: skip
    terms = paper_terms(chunks, document.title, frozenset(ENTITY_TYPES))
    return [extract(chunk, terms) for chunk in chunks]


@needs_shared_data
def test_what_was_sampled_is_still_found(found):
    entities = {(canonical(each.name), each.entity_type) for passage in found for each in passage.mentions}
    relations = {
        (canonical(each.subject), each.relation, canonical(each.object))
        for passage in found
        for each in passage.triples
    }
    wanted = [row for row in sample("entities.tsv") if row["paper"] == READ]
    there = [(canonical(row["name"]), row["type"]) in entities for row in wanted]
    wanted = [row for row in sample("relations.tsv") if row["paper"] == READ]
    there += [(canonical(row["subject"]), row["relation"], canonical(row["object"])) in relations for row in wanted]
    assert len(there) >= 10
    assert sum(there) >= 0.8 * len(there)
