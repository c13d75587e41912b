"""Export and import: the same graph there and back, and nothing half done."""

import json

import pytest
from hypothesis import given, settings

from ragscience.core.errors import RagScienceError
from ragscience.graph.graph_exchange import export_jsonl, import_jsonl
from ragscience.graph.graph_model import load_graph
from ragscience.graph.graph_records import Extracted
from ragscience.graph.traversal import shortest_path
from ragscience.library.store import Home, Library

from .making import PASSAGES, fill, passages, put


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two libraries of the same papers, added in another order, and the ids of their passages."""
    folder = tmp_path_factory.mktemp("pair")
    with Library.open_for_writing(Home(folder / "a")) as one, Library.open_for_writing(Home(folder / "b")) as other:
        yield (one, fill(one)), (other, fill(other, [3, 1, 0, 2]))


def exported(library, folder):
    export_jsonl(library, folder)
    return [(folder / name).read_bytes() for name in ("nodes.jsonl", "edges.jsonl")]


def renewed(library, ids, kept):
    """Let the library hold these passages only."""
    library.graph.clear("import")
    for extractor, wanted in (("local", 0), ("llm", 1)):
        library.graph.clear(extractor)
        rows = [
            Extracted(ids[paper][found.chunk_id % PASSAGES], found.mentions, found.triples, found.aliases)
            for at, (paper, found) in enumerate(kept)
            if at % 2 == wanted
        ]
        put(library, *rows, extractor=extractor)


@settings(max_examples=25)
@given(passages)
def test_there_and_back_it_is_the_same_graph(tmp_path_factory, pair, kept):
    (here, ids), (there, other_ids) = pair
    folder = tmp_path_factory.getbasetemp()
    renewed(here, ids, kept)
    before = exported(here, folder / "out")
    renewed(there, other_ids, [])
    done = import_jsonl(there, folder / "out")
    assert (done.entities, done.relations) == tuple(text.count(b"\n") for text in before)
    assert exported(there, folder / "back") == before
    graph, back = load_graph(here), load_graph(there)
    assert [(e.key, e.label, e.names, e.mentions, e.confidence) for e in graph.entities()] == [
        (e.key, e.label, e.names, e.mentions, e.confidence) for e in back.entities()
    ]
    assert [(r.source, r.target, r.relation, r.count, r.confidence) for r in graph.relations()] == [
        (r.source, r.target, r.relation, r.count, r.confidence) for r in back.relations()
    ]
    import_jsonl(here, folder / "out")  # over what it was made from
    assert exported(here, folder / "over") == before


@pytest.fixture
def library(tmp_path):
    with Library.open_for_writing(Home(tmp_path / "home")) as library:
        fill(library, [0])
        yield library


@pytest.fixture
def place(library):
    """The stable name of the only paper, with "#"."""
    return library.papers()[0].md5[:12] + "#"


def example(place):
    nodes = [
        {
            "node_id": "METHOD:gru",
            "label": "GRU",
            "node_type": "METHOD",
            "properties": {
                "mentions": 3,
                "confidence": 0.8,
                "names": {"GRU": {f"{place}0": 2}, "GRUs": {f"{place}1": 1}},
            },
            "chunk_ids": [f"{place}0", f"{place}1"],
        },
        {
            "node_id": "METRIC:bleu",
            "label": "BLEU",
            "node_type": "METRIC",
            "properties": {"mentions": 1, "confidence": 0.8, "names": {"BLEU": {f"{place}0": 1}}},
            "chunk_ids": [f"{place}0"],
        },
    ]
    edge = {
        "source": "METHOD:gru",
        "target": "METRIC:bleu",
        "edge_type": "IMPROVES",
        "properties": {"count": 1, "confidence": 0.5, "said": {f"{place}0": 0.5}},
        "evidence_chunk_ids": [f"{place}0"],
    }
    return nodes, [edge]


def write(folder, nodes, edges):
    folder.mkdir(exist_ok=True)
    for name, rows in (("nodes", nodes), ("edges", edges)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def test_a_graph_of_companies_comes_in_with_its_own_types(library, place, tmp_path):
    """The production notes' triples: FOUNDED and HOLDS_PATENT between a PERSON, a COMPANY and a PATENT."""
    nodes = [("p1", "Elon Musk", "PERSON"), ("c1", "Tesla", "COMPANY"), ("x1", "Tesla battery XYZ123", "PATENT")]
    edges = [("p1", "FOUNDED", "c1"), ("p1", "HOLDS_PATENT", "x1")]
    write(
        tmp_path,
        [{"node_id": key, "label": name, "node_type": kind, "chunk_ids": [f"{place}0"]} for key, name, kind in nodes],
        [
            {"source": one, "target": other, "edge_type": kind, "evidence_chunk_ids": [f"{place}0"]}
            for one, kind, other in edges
        ],
    )
    import_jsonl(library, tmp_path)
    graph = load_graph(library)
    assert {entity.entity_type for entity in graph.entities()} == {"PERSON", "COMPANY", "PATENT"}
    path = shortest_path(graph, *graph.by_name("Tesla"), *graph.by_name("Tesla battery XYZ123"))
    assert [step.relation for step in path.relations] == ["FOUNDED", "HOLDS_PATENT"]


def change(which, row, **fields):
    def changed(nodes, edges):
        (nodes if which == "nodes" else edges)[row].update(fields)

    return changed


def add(which, line):
    return lambda nodes, edges: (nodes if which == "nodes" else edges).append(line)


def twice(which):
    return lambda nodes, edges: (nodes if which == "nodes" else edges).append((nodes if which == "nodes" else edges)[0])


BAD = {
    "dangling": (change("edges", 0, target="METRIC:x"), "edges.jsonl, line 1: there is no node 'METRIC:x' in nodes"),
    "itself": (change("edges", 0, target="METHOD:gru"), "edges.jsonl, line 1: it joins 'GRU' to itself"),
    "node type": (change("nodes", 1, node_type="A B"), "nodes.jsonl, line 2: node_type: String should match pattern"),
    "edge type": (change("edges", 0, edge_type=""), "edges.jsonl, line 1: edge_type: String should match pattern"),
    "long label": (
        change("nodes", 0, label="x" * 10_000),
        "nodes.jsonl, line 1: label: String should have at most 80 characters",
    ),
    "duplicate node": (twice("nodes"), "nodes.jsonl, line 3: node_id 'METHOD:gru' is also in an earlier line"),
    "duplicate edge": (twice("edges"), "edges.jsonl, line 2: an earlier line has the same edge"),
    "unknown passage": (
        change("nodes", 1, chunk_ids=["abc#7"]),
        "line 2: chunk_ids 0: the library has no passage 'abc#7'",
    ),
    "no passages": (change("nodes", 1, chunk_ids=[]), "line 2: chunk_ids: List should have at least 1 item"),
    "properties": (change("edges", 0, properties=[]), "edges.jsonl, line 1: properties: Input should be an object"),
    "confidence": (
        change("nodes", 1, properties={"confidence": 1.5}),
        "line 2: properties confidence: Input should be less than or equal to 1",
    ),
    "nan": (
        change("edges", 0, properties={"confidence": float("nan")}),
        "edges.jsonl, line 1: properties confidence: ",
    ),
    "no JSON": (add("nodes", "{nonsense"), "nodes.jsonl, line 3: this is not a JSON object"),
    "deep": (add("edges", "[" * 100_000), "edges.jsonl, line 2: this is not a JSON object"),
}


def placed(value, place):
    """The same with "0", "1", … as names of passages."""
    if isinstance(value, dict):
        return {f"{place}{key}" if key in "012" else key: placed(each, place) for key, each in value.items()}
    if value in ("0", "1") and isinstance(value, str):
        return [f"{place}{value}"]
    return value


@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_is_told_and_nothing_is_done(library, place, tmp_path, case):
    folder = tmp_path / "in"
    write(folder, *example(place))
    import_jsonl(library, folder)
    before = library.graph.rows(), library.graph.state()
    nodes, edges = example(place)
    spoil, told = BAD[case]
    spoil(nodes, edges)
    write(folder, *([placed(row, place) for row in rows] for rows in (nodes, edges)))
    with pytest.raises(RagScienceError, match=told) as caught:
        import_jsonl(library, folder)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400
    assert (library.graph.rows(), library.graph.state()) == before
