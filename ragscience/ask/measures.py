"""The measures that a paper reports: standard ones, where captions, tables and results name them."""

from __future__ import annotations

import re

from ragscience.ask.paper_text import PaperText
from ragscience.ask.summary_cues import zone_of
from ragscience.core.records import Block, Citation
from ragscience.core.tokenizing import terms

__all__ = ["measure_blocks"]

_MEASURES = re.compile(
    r"(?<![\w-])(?:(?:top-?[15] )?(?:validation |test )?(?:accuracy|error rates?)|AUROC|AUC|AUPRC|"
    r"(?:micro |macro |mean )?F-?1(?! ?=)|F-?measure|BLEU(?:-\d)?|ROUGE(?:-[\dL])?|METEOR|perplexity|"
    r"bits[ -]per[ -]\w{4,9}|exact match|mean average precision|(?-i:MAP|mAP)|n?DCG(?:@\d{1,2})?|MRR|"
    r"precision(?: at \d{1,2}|@\d{1,2})?|recall(?:@\d{1,2})?|RMSE|MSE|MAE|word error rate|WER|"
    r"(?:odds|hazard|risk) ratios?|(?:weighted )?mean difference|sensitivity(?! analys)|specificity|latency|throughput|"
    r"speed-?ups?|(?:Pearson|Spearman)(?:’s)? correlation|Matthew’?s correlation|R\^2|IC50|Ki(?: values)?)(?![\w-])",
    re.IGNORECASE,
)
_FEWEST = 3
_WEIGHTS = {"caption": 2, "table": 2}
_ZONES = frozenset({"abstract", "results", "experiments", "data", "conclusion"})
_MOST = 10


def measure_blocks(paper: PaperText, wanted: frozenset[str]) -> list[Block]:
    """An item for each measure that captions, the headers of tables, the abstract or the results name often enough."""
    weights: dict[str, int] = {}
    names: dict[str, tuple[int, str, tuple[Citation, ...]]] = {}

    def add(text: str, weight: int, cited: tuple[Citation, ...]) -> None:
        for match in _MEASURES.finditer(text):
            key = match.group().casefold().replace("-", "").removesuffix("s")
            weights[key] = weights.get(key, 0) + weight
            if key not in names or names[key][0] < weight:
                names[key] = weight, match.group(), cited

    for part in paper.parts:
        if part.kind in _WEIGHTS and (not wanted or wanted & set(terms(part.text))):
            text = part.text if part.kind == "caption" else "\n".join(part.text.split("\n")[:3])
            add(text, _WEIGHTS[part.kind], paper.cite([part]))
    for sentence in paper.sentences:
        if zone_of(sentence.section, sentence.kind) in _ZONES and (not wanted or wanted & set(terms(sentence.text))):
            add(sentence.text, 1, sentence.citations)
    kept = sorted((key for key, weight in weights.items() if weight >= _FEWEST), key=lambda key: -weights[key])
    return [Block("item", names[key][1], names[key][2]) for key in kept[:_MOST]]
