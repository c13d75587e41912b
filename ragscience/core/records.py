"""What travels between the packages: frozen dataclasses without behaviour but a derived value or two."""

from ragscience.core.answer_records import (
    PASSAGES,
    UNCITED,
    Answer,
    Block,
    Citation,
    Filters,
    Found,
    FoundPath,
    Hit,
    Part,
    PathStep,
    Profile,
    Sentence,
    Stage,
    Step,
    Turn,
)
from ragscience.core.paper_records import (
    LOST_PAGE,
    REPAIRED_FILE,
    Box,
    Chunk,
    Document,
    Element,
    EmbedderIdentity,
    Line,
    Metadata,
    Page,
    PageShape,
    Paper,
    StoredChunk,
    searched_text,
    title_of,
)

__all__ = [
    "LOST_PAGE", "PASSAGES", "REPAIRED_FILE", "UNCITED",
    "Answer", "Block", "Box", "Chunk", "Citation", "Document", "Element", "EmbedderIdentity", "Filters", "Found",
    "FoundPath", "Hit", "Line", "Metadata", "Page", "PageShape", "Paper", "Part", "PathStep", "Profile", "Sentence",
    "Stage", "Step", "StoredChunk", "Turn", "searched_text", "title_of",
]  # fmt: skip
