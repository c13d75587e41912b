"""Papers that are no PDF, made in the tests: from one source by pandoc, or from their parts."""

from __future__ import annotations

import functools
import subprocess
import zipfile
from importlib.util import find_spec
from pathlib import Path

SOURCE = r"""---
title: Drift Sampling of Alpine Sensor Fields
author:
- Ada Marrow
- Ben Quill
date: 2021-03-04
---

# Introduction

Alpine sensor fields lose between nine and fourteen percent of their nodes each winter, and operators have no
cheap way to notice which of them still measure correctly. Earlier work by Quill relied on a yearly calibration
walk, which costs about 31 working days for a field of two hundred nodes.

We present drift sampling, a protocol that finds a miscalibrated node from the readings of its four nearest
neighbours. The protocol needs no reference instrument and runs on the nodes themselves.

# Method

Each node keeps a window of 96 readings, which is one day at a period of fifteen minutes. At midnight it asks its
neighbours for the median of their windows and computes the drift score of the node as follows:

$$S = \frac{|m - n|}{\sigma + 1}$$

A node whose score stays above 2.5 for three nights in a row is marked as suspect and leaves the average of the field.
The threshold was chosen on the Furka field in 2018, before any of the experiments that we report here.

The protocol has three roles, which can change at any time:

- A witness answers requests for its median and never starts a comparison by itself.
- A prober starts the nightly comparison and stores the scores of its neighbourhood.
- A steward forwards suspect marks to the base station over the long range radio.

## Energy

Radio traffic dominates the energy of a node. A nightly comparison costs 0.42 joules, which shortens the life of the
lithium cell by eleven days over five years. Compressing the medians with Golomb codes would halve that amount, but we
left it out because the firmware has only 7 kilobytes of memory to spare.

# Experiments

We deployed the protocol on three fields in Switzerland and Austria for two winters. Graduate students recalibrated all
nodes by hand in May, which gives the ground truth for all results below.

Table 1: Precision and recall of suspect marks by field.

| Field   | Nodes | Precision | Recall |
|---------|-------|-----------|--------|
| Furka   | 212   | 0.91      | 0.84   |
| Arlberg | 148   | 0.88      | 0.79   |
| Silvretta | 96  | 0.72      | 0.66   |

Precision is lowest at Silvretta, where snow buries whole neighbourhoods, so that all neighbours drift together. On the
other two fields the protocol finds a faulty node after 6.3 nights on average.

## Ablation

Without the denominator of the score the false alarms rise from 19 to 57 per winter. Replacing the median by the mean
loses eight points of recall, because a single frozen sensor then moves the whole neighbourhood.

# Limitations

Drift sampling cannot see a fault that strikes all nodes of a neighbourhood at once. It was never tested on humidity
sensors, whose readings depend on the direction of the wind.

# Conclusion

Drift sampling replaces the calibration walk by a nightly exchange of medians, and saves about 27 working days a year on
a field of two hundred nodes. The source code is available under the Apache licence.

# References

[1] B. Quill. Calibration walks in high mountains. Journal of Field Sensing, 2016.

[2] C. Ortler and D. Pass. Frozen sensors and their neighbours. Alpine Computing, 2019.
"""
QUESTIONS = {
    "What share of their nodes do alpine sensor fields lose each winter?": "between nine and fourteen percent",
    "How many working days does the calibration walk cost for two hundred nodes?": "31 working days",
    "From what does drift sampling find a miscalibrated node?": "four nearest neighbours",
    "How many readings does each node keep in its window?": "a window of 96 readings",
    "What does a node ask its neighbours for at midnight?": "the median of their windows",
    "When is a node marked as suspect?": "above 2.5 for three nights",
    "On which field was the threshold chosen?": "Furka field in 2018",
    "Which role answers requests for its median?": "A witness answers requests",
    "What does a prober do?": "starts the nightly comparison",
    "What does a steward forward to the base station?": "suspect marks to the base station",
    "How much energy does a nightly comparison cost?": "0.42 joules",
    "Why were Golomb codes left out?": "7 kilobytes of memory",
    "In which countries was the protocol deployed?": "Switzerland and Austria",
    "Who recalibrated all nodes by hand?": "Graduate students recalibrated",
    "What is the recall on the Arlberg field?": "0.79",
    "Why is precision lowest at Silvretta?": "snow buries whole neighbourhoods",
    "After how many nights does the protocol find a faulty node?": "6.3 nights on average",
    "How do false alarms change without the denominator of the score?": "from 19 to 57 per winter",
    "Which sensors was drift sampling never tested on?": "humidity",
    "Under which licence is the source code available?": "Apache licence",
}
"""With the words of SOURCE that answer."""


@functools.cache
def pandoc() -> Path:
    """The program in the package pypandoc_binary."""
    return Path(find_spec("pypandoc").submodule_search_locations[0], "files", "pandoc")


def write(path: Path, source: str = SOURCE, *options: str) -> Path:
    """The paper of a Markdown source, in the format that the name ends in; a PDF is set by PyMuPDF."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".md":
        path.write_text(source, encoding="utf-8")
    elif path.suffix == ".pdf":
        page = converted(source, "html", "-s", *options).decode()
        _typeset(path, page.replace("|S", "S").partition("<body>")[2].partition("</body>")[0])
    else:
        form = {".tex": "latex", ".htm": "html"}.get(path.suffix, path.suffix[1:])
        path.write_bytes(converted(source, form, "-s", "--mathml", *options))
    return path


def converted(source: str, form: str, *options: str) -> bytes:
    command = [pandoc(), "-f", "markdown", "-t", form, *options, "-o", "-"]
    return subprocess.run(command, input=source.encode(), capture_output=True, check=True).stdout


def _typeset(path: Path, body: str) -> None:
    import pymupdf

    style = "body {font-family: serif; font-size: 10px} td, th {padding: 2px 8px}"
    story = pymupdf.Story(f"<body>{body}</body>", user_css=style)
    writer = pymupdf.DocumentWriter(str(path))
    goes_on = True
    while goes_on:
        device = writer.begin_page(pymupdf.Rect(0, 0, 420, 595))
        goes_on, _ = story.place(pymupdf.Rect(50, 50, 370, 545))
        story.draw(device)
        writer.end_page()
    writer.close()


def packed(path: Path, parts: dict[str, str | bytes], like: Path | None = None) -> Path:
    """A ZIP file with these parts, and those of another one that these do not replace."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as target:
        if like:
            with zipfile.ZipFile(like) as source:
                for name in source.namelist():
                    if name not in parts:
                        target.writestr(name, source.read(name))
        for name, content in parts.items():
            target.writestr(name, content)
    return path
