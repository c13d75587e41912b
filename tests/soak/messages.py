"""How a command may end: with a documented exit code, and where it fails with one clear message and a fix."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping

from ragscience.core.errors import EXIT_CODES
from tests.soak.processes import Ran
from tests.soak.shelf import Truth

_FIX = re.compile(r"^error: .+\n {7}\S", re.MULTILINE)
_NEVER = ("Traceback (most recent call last)", "Unexpected error", "Fatal Python error", "Exception ignored")


def complaints(ran: Ran, *, may_fail: bool, may_be_killed: bool) -> list[str]:
    """What is wrong with how a command ended."""
    if ran.is_hung:
        return [f"{ran.what} hung: {ran.err[-4000:]}"]
    wrong = [f"{ran.what} said {one!r}: {ran.err[-3000:]}" for one in _NEVER if one in ran.err]
    if ran.was_killed:
        return wrong
    if ran.code < 0:
        if ran.code != -signal.SIGKILL or not may_be_killed:
            wrong.append(f"{ran.what} was ended by signal {-ran.code}: {ran.err[-2000:]}")
        return wrong
    if ran.code not in EXIT_CODES:
        wrong.append(f"{ran.what} ended with {ran.code}, which is not documented: {ran.err[-2000:]}")
    if ran.code and not may_fail:
        wrong.append(f"{ran.what} ended with {ran.code} and nothing had failed: {ran.out[-500:]} {ran.err[-2000:]}")
    errors = sum(line.startswith("error: ") for line in ran.err.splitlines())
    if ran.code in (1, 2, 5) and " doctor" not in ran.what and not (errors == 1 and _FIX.search(ran.err)):
        wrong.append(f"{ran.what} ended with {ran.code} and {errors} clear errors: {ran.err[-2000:]}")
    if not ran.code and errors:
        wrong.append(f"{ran.what} ended with 0 and says: {ran.err[-2000:]}")
    return wrong


def strange_hits(output: str, truths: Mapping[str, Truth]) -> list[str]:
    """What the JSON of `search` or `ask` shows that no paper holds, or of two versions of one paper."""
    try:
        shown = json.loads(output)
    except ValueError:
        return [f"it is no JSON: {output[:500]}"]
    wrong, versions = [], {}
    for hit in shown.get("hits", ()):
        truth = truths.get(hit["md5"])
        place = hit["page_start"], hit["page_end"], hit["text"]
        if truth is None or place not in {passage[2:] for passage in truth.passages}:
            wrong.append(f"a passage that its paper does not have: {hit['file']} {place}")
        if versions.setdefault(hit["file"], hit["md5"]) != hit["md5"]:
            wrong.append(f"passages of two versions of {hit['file']}")
    for cited in shown.get("citations", ()):
        md5 = versions.get(cited["file"])
        if md5 is None or md5 not in truths:
            wrong.append(f"{cited['file']} is cited and not among the passages")
            continue
        text = " ".join(truths[md5].pages[cited["page"] - 1].split())
        if cited.get("quote") and " ".join(cited["quote"].split()) not in text:
            wrong.append(f"page {cited['page']} of {cited['file']} does not have the quote {cited['quote']!r}")
    return wrong
