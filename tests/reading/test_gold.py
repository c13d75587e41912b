"""The measures of tests/gold on examples whose result is plain, and the papers read against the gold."""

from tests.gold.scoring import load_gold, matrix_of, score_document, table_score, total
from tests.shared_data import needs_shared_data, shared_papers


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def test_the_gold_is_whole():
    gold = load_gold()
    assert len(gold) == 6
    for one in gold:
        assert one.title
        assert len(one.reading_order) == 3
        assert len(one.tables) == 2
        assert [page for _, page, _ in one.headings] == sorted(page for _, page, _ in one.headings)
        for table in one.tables:
            assert len({len(row) for row in table.cells}) == 1
            as_markdown = markdown(
                [[name if isinstance(name, str) else name[0] for name in row] for row in table.cells]
            )
            filled = matrix_of(as_markdown.replace("| > ", "|  ").replace("| ^ ", "|  "))
            assert table_score(filled, table).share == 1


@needs_shared_data
def test_the_reader_agrees_with_the_gold():
    gold = load_gold()
    documents = [shared_papers()[one.file] for one in gold]
    scores = [score_document(document, one) for document, one in zip(documents, gold, strict=True)]
    whole = total(scores)
    assert whole["titles"] == len(gold)
    assert whole["heading_f1"] >= 0.95, [(one.missing, one.extra) for one in scores]
    assert whole["levels"] >= 0.95
    assert whole["order_tau"] >= 0.98, [one.orders for one in scores]
    assert min(tau for one in scores for tau in one.orders.values()) >= 0.98
    assert whole["cells"] >= 0.95, [table.wrong for one in scores for table in one.tables.values()]
