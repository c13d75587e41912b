"""What the tests of the network share: rules, a clock that stands still, and what a parts folder may hold."""

from __future__ import annotations

import json
from dataclasses import replace

from ragscience.sources.downloads import Clock as FetchClock
from ragscience.sources.downloads import Fetcher, NetworkRules
from ragscience.sources.pdf_check import in_words, reason_of

RULES = NetworkRules(
    allow_http=True,
    allow_loopback=True,
    max_bytes=1_000_000,
    max_redirects=10,
    timeout_s=5,
    total_s=600,
    pause_s=3,
    user_agent="RAG-Science/0 (tests)",
)


class Clock:
    """Seconds that pass when somebody sleeps, and `tick` each time that somebody looks."""

    def __init__(self, tick=0.0):
        self.now = 0.0
        self.tick = tick
        self.slept = []

    def __call__(self):
        self.now += self.tick
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def unreadable_here(path):
    """What the process of its own would say, said by this one, which has PyMuPDF loaded already."""
    return in_words(reason_of(path))


def fetcher(clock=None, *, resolve=None, now=lambda: 0.0, tls=None, on_wait=None, unreadable=unreadable_here, **rules):
    """A fetcher that never really sleeps; without pauses between requests where nothing else is said."""
    clock = clock or Clock()
    more = {"resolve": resolve} if resolve else {}
    set_rules = replace(RULES, **{"pause_s": 0, **rules})
    times = FetchClock(clock, clock.sleep, now)
    return Fetcher(set_rules, clock=times, tls=tls, on_wait=on_wait, unreadable=unreadable, **more)


def resumable(folder):
    """The sizes of the parts in a folder; fails where anything else is in it, or a part that nothing could resume."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    stems = {name.removesuffix(".part") for name in names if name.endswith(".part")}
    assert names == {f"{stem}{ending}" for stem in stems for ending in (".part", ".json")}
    sizes = []
    for stem in sorted(stems):
        assert json.loads((folder / f"{stem}.json").read_text())["validator"]
        sizes.append((folder / f"{stem}.part").stat().st_size)
    assert 0 not in sizes
    return sizes
