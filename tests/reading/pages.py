"""First pages as the reader sees them, written down by hand."""

from types import SimpleNamespace

from ragscience.reading.text_spans import read_spans

BOLD, RAISED = 16, 1
WIDTH, HEIGHT = 612.0, 792.0


def span(text, left, top, size, flags=0, width=None):
    return {
        "text": text,
        "size": size,
        "flags": flags,
        "font": "Times",
        "origin": (left, top + 0.8 * size),
        "bbox": (left, top, left + (width or 0.5 * size * len(text)), top + size),
    }


def line(*spans, direction=(1.0, 0.0)):
    return {"spans": list(spans), "dir": direction}


def row(top, size, *pieces, left=100.0, flags=0):
    """A line of (text, flags) or text, one piece right after the other; raised pieces are set smaller."""
    spans = []
    for piece in pieces:
        text, own = piece if isinstance(piece, tuple) else (piece, flags)
        spans.append(span(text, left, top, 0.7 * size if own & RAISED else size, own))
        left = spans[-1]["bbox"][2]
    return line(*spans)


def page(*lines):
    sheet = SimpleNamespace(rect=SimpleNamespace(width=WIDTH, height=HEIGHT), rotation=0)
    return read_spans(sheet, lines, "", has_tables=False)


def body(top=300.0):
    """Running text, so that there is a size to compare with."""
    words = "the model is read by a person who looks for what it says of itself and"
    return [row(top, 12, "Abstract", flags=BOLD), *(row(top + 20 + 12 * step, 10, words) for step in range(12))]
