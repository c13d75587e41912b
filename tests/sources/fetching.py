"""What the tests of the network share: rules, a clock that stands still."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from ragscience.core.errors import FileProblem
from ragscience.reading.pdf_file import count_pages
from ragscience.sources.allowed_addresses import NetworkRules
from ragscience.sources.downloads import downloaded_pdf
from ragscience.sources.http_client import HttpClient

RULES = NetworkRules(allow_loopback=True, max_bytes=1_000_000, max_redirects=10, timeout_s=5, total_s=600, pause_s=3)


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
    try:
        return "" if count_pages(path) else "has no pages"
    except FileProblem as problem:
        return f"cannot be opened ({problem.reason})"


class Fetcher:
    """Downloads that stay until it is closed."""

    def __init__(self, rules, unreadable, **more):
        self.client = HttpClient(rules, **more)
        self._unreadable = unreadable
        self._files = ExitStack()

    def get(self, url, **more):
        return self.client.get(url, **more)

    def pdf(self, url, folder):
        downloaded = downloaded_pdf(self.client, url, folder, lambda done, total: None, self._unreadable)
        return self._files.enter_context(downloaded)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._files.close()


def fetcher(clock=None, *, unreadable=unreadable_here, **more):
    """A fetcher that never really sleeps; without pauses between requests where nothing else is said."""
    clock = clock or Clock()
    given = {name: more.pop(name) for name in ("resolve", "tls", "on_wait") if more.get(name) is not None}
    rules = replace(RULES, **{"pause_s": 0, **more})
    return Fetcher(rules, unreadable, monotonic=clock, sleep=clock.sleep, **given)
