"""`query.py serve` under load: its start, its memory, MCP, 50 clients while papers are added, and kill -9."""

from __future__ import annotations

import http.client
import itertools
import random
import re
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.corpora import dev_questions, draw_paper
from benchmarks.report import REPOSITORY, Report, Table, spread
from benchmarks.running import Options, door
from benchmarks.served import Client, Served, copied_home, percentile, served, until_served

TITLE = "The server under load"
QUESTION = "How is the keyword score normalised before it is added to the dense score?"
IDLE_S = 10
CALLS = 200
"""Searches of an assistant, and of one client alone."""
CLIENTS = 50
ADDED = 3
"""Made-up papers that are added while the clients ask."""
PAUSE_S = 10
"""The longest pause of a client between two questions; without one the server is as busy as it can be."""
ASK_EVERY = 5
"""One question in so many is asked, the others are searches."""
OF_ONE = "p95 of search, of one client's"
_NUMBER = re.compile(r" \(\d{1,4}\)(?=\.pdf$)")
"""Of an upload whose name is taken: the file of a paper that is removed stays."""
KILLS = 2
"""For each round that was asked for."""


def run(options: Options) -> Report:
    """With `full` 5,000 questions in one process and 20 of each of 50 clients; else 500 and 4."""
    home = copied_home("serving-home")
    starts = [_start(home) for _ in range(options.rounds)]
    assistants = _assistants(home)
    alone, crowd = _crowd(home, 20 if options.full else 4)
    memory = _memory(home, 5000 if options.full else 500)
    kills = _kills(home, KILLS * options.rounds)
    tables = [
        _starts_table(starts),
        _latency_table({**assistants, **alone, **crowd["latencies"]}, crowd),
        _memory_table(memory),
        Table("kill -9 while conversations are kept", list(kills), [[str(value) for value in kills.values()]]),
    ]
    figures = {"start": starts, "assistants": _figures(assistants), "alone": _figures(alone), "kills": kills}
    figures |= {"crowd": {**crowd, "latencies": _figures(crowd["latencies"])}, "memory": memory}
    return Report("serving", TITLE, tables, figures)


# The start


def _start(home: Path) -> dict[str, float]:
    """Seconds and megabytes of one server from its start."""
    with served(home) as server:
        listening = time.perf_counter() - server.started
        found = {"listening": listening, "healthz": until_served(server, "/healthz")}
        with server.client() as client:
            client.post("/api/v1/search", {"question": QUESTION})
            found["search"] = time.perf_counter() - server.started
        found["readyz"] = until_served(server, "/readyz")
        time.sleep(IDLE_S)
        found["idle_rss"], found["idle_pss"] = server.memory_mb()
        with server.client() as client:
            client.post("/api/v1/ask", {"question": QUESTION})
        found["asked_rss"], found["asked_pss"] = server.memory_mb()
        server.process.send_signal(signal.SIGTERM)
        begun = time.perf_counter()
        server.process.wait()
        found["end"] = time.perf_counter() - begun
    return found


def _starts_table(starts: Sequence[dict[str, float]]) -> Table:
    seconds = {
        "the address is printed": "listening", "first answered /healthz": "healthz",
        "first answered search": "search", "end, from SIGTERM": "end",
    }  # fmt: skip
    megabytes = {
        f"resident, {IDLE_S} s after a search": "idle_rss", f"proportional, {IDLE_S} s after a search": "idle_pss",
        "resident, after the first answer": "asked_rss", "proportional, after the first answer": "asked_pss",
    }  # fmt: skip
    rows = [[name, spread([one[key] for one in starts])] for name, key in seconds.items()]
    rows += [[name, spread([one[key] for one in starts], "MB", 0)] for name, key in megabytes.items()]
    note = "Wall time from the start of the process; files in the system's cache."
    return Table(f"Cold start and memory, median of {len(starts)}", ["what", "figure"], rows, note=note)


# One client


def _questions() -> Iterator[str]:
    """Different questions without an end: those of the set, then the same with a word of another one."""
    known = [str(one["question"]) for one in dev_questions()]
    yield from known
    words = sorted({word for text in known for word in re.findall(r"[a-z]{6,}", text)})
    dice = random.Random(3)
    while True:
        yield f"{dice.choice(known).rstrip('?')} with {dice.choice(words)} and {dice.choice(words)}?"


def _assistants(home: Path) -> dict[str, list[float]]:
    """Seconds of each search by the SDK's client, over HTTP and over stdio."""
    import anyio
    from mcp import Client as Assistant
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def timed(target: Any) -> list[float]:
        questions, took = _questions(), []
        async with Assistant(target) as client:
            for number in range(CALLS + 5):
                started = time.perf_counter()
                reply = await client.call_tool("search", {"query": next(questions)})
                if reply.is_error:
                    raise RuntimeError(str(reply.content))
                took += [time.perf_counter() - started] if number >= 5 else []
        return took

    with served(home) as server:
        by_http = anyio.run(timed, f"http://127.0.0.1:{server.port}/mcp")
    command = door("query", home, "mcp", "--offline")
    over = StdioServerParameters(command=command[0], args=command[1:], cwd=str(REPOSITORY))
    return {
        "MCP search, one assistant, HTTP": by_http,
        "MCP search, one assistant, stdio": anyio.run(timed, stdio_client(over)),
    }


# Fifty clients


def _given(client: Client, path: str, question: str) -> tuple[float, tuple[object, ...]]:
    """The seconds of a question, and what is the same in each right answer to it.

    Raises RuntimeError for an answer to another question.
    """
    started = time.perf_counter()
    value = client.post(f"/api/v1/{path}", {"question": question})
    seconds = time.perf_counter() - started
    if value["question"] != question:
        raise RuntimeError(f"asked {question!r}, given {value['question']!r}")
    if path == "search":
        hits = [(_NUMBER.sub("", hit["file"]), hit["page_start"], hit["text"]) for hit in value["hits"]]
        return seconds, tuple(hits)
    if client.get(f"/api/v1/answers/{value['answer_id']}")["answer"] != value["answer"]:
        raise RuntimeError(f"what is kept as {value['answer_id']} is another answer")
    return seconds, (value["answer"], *((one["file"], one["page"], one["quote"]) for one in value["citations"]))


def _crowd(home: Path, each: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """One client's seconds by kind; and what 50 clients saw while papers were added, with how many answers were wrong.

    An answer is right where it is one that the same question gets alone, at one of the states that the library passes.
    """
    known = [str(one["question"]) for one in dev_questions()][:24]
    keys = [("ask" if number % ASK_EVERY == 0 else "search", text) for number, text in enumerate(known)]
    with tempfile.TemporaryDirectory() as folder, served(home) as server, server.client() as client:
        papers = [Path(folder) / f"made-up-{number}.pdf" for number in range(ADDED)]
        for number, path in enumerate(papers):
            draw_paper(path, 900 + number)
        until_served(server, "/readyz")
        right: dict[tuple[str, str], set[object]] = {key: {_given(client, *key)[1]} for key in keys}
        for path in papers:
            client.upload(path.name, path.read_bytes())
            for key in keys:
                right[key].add(_given(client, *key)[1])
        _without(client)
        alone: dict[str, list[float]] = {"search": [], "ask": []}
        for key in itertools.islice(itertools.cycle(keys), CALLS):
            alone[key[0]].append(_given(client, *key)[0])
        uploads = [(path.name, path.read_bytes()) for path in papers]
        crowd = _asked_by_all(server, keys, right, uploads, (each, PAUSE_S))
        with server.client() as other:
            _without(other)
        busy = _asked_by_all(server, keys, right, uploads, (max(each // 2, 1), 0))
    with served(home) as server, server.client() as client:
        _without(client)
    crowd["busy"] = {name: value for name, value in busy.items() if name != "latencies"}
    crowd[OF_ONE] = percentile(crowd["latencies"]["search"], 0.95) / percentile(alone["search"], 0.95)
    return {f"{kind}, one client": values for kind, values in alone.items()}, {
        **crowd,
        "latencies": {
            f"{kind}, {CLIENTS} clients{how}": values
            for how, one in ((", with pauses", crowd), (", without a pause", busy))
            for kind, values in one["latencies"].items()
        },
    }


def _without(client: Client) -> None:
    """The library as it was."""
    for paper in client.get("/api/v1/papers")["papers"]:
        if paper["file"].startswith("made-up"):
            client.remove(paper["md5"])


def _asked_by_all(
    server: Served,
    keys: Sequence[tuple[str, str]],
    right: dict[tuple[str, str], set[object]],
    papers: Sequence[tuple[str, bytes]],
    asks: tuple[int, float],
) -> dict[str, Any]:
    """`asks` has how many questions each client asks, and the longest pause between two of them."""
    each, pause = asks
    latencies: dict[str, list[float]] = {"search": [], "ask": []}
    errors: list[str] = []
    wrong: list[str] = []

    def ask(number: int) -> None:
        dice = random.Random(number)
        for _ in range(each):
            time.sleep(dice.uniform(0, pause))
            key = dice.choice(keys)
            try:
                with server.client() as client:
                    seconds, given = _given(client, *key)
            except (RuntimeError, OSError, http.client.HTTPException, KeyError, ValueError) as error:
                errors.append(f"{key}: {error!r}")
                continue
            latencies[key[0]].append(seconds)
            if given not in right[key]:
                wrong.append(str(key))

    def add() -> None:
        with server.client() as client:
            for name, content in papers:
                client.upload(name, content)

    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS + 1) as threads:
        adding = threads.submit(add)
        list(threads.map(ask, range(CLIENTS)))
        seconds = time.perf_counter() - started
        adding.result()
    return {
        "latencies": latencies,
        "questions": CLIENTS * each,
        "papers added": len(papers),
        "errors": len(errors),
        "wrong answers": len(wrong),
        "first of both": [*errors[:3], *wrong[:3]],
        "questions a second": CLIENTS * each / seconds,
    }


def _latency_table(latencies: dict[str, list[float]], crowd: dict[str, Any]) -> Table:
    rows = [
        [name, str(len(values)), *(f"{percentile(values, share) * 1000:.0f} ms" for share in (0.5, 0.95))]
        for name, values in latencies.items()
    ]
    note = f"p95 of search by {CLIENTS} clients is {crowd[OF_ONE]:.1f} times one client's."
    for how, one in ((f"with pauses of up to {PAUSE_S} s", crowd), ("without a pause", crowd["busy"])):
        note += (
            f" They asked {one['questions']} questions {how} while {one['papers added']} papers were added:"
            f" {one['errors']} errors, {one['wrong answers']} wrong answers, {one['questions a second']:.1f} a second."
        )
    return Table("Warm, on 24 papers", ["what", "calls", "p50", "p95"], rows, note=note)


def _figures(latencies: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"p50_ms": percentile(values, 0.5) * 1000, "p95_ms": percentile(values, 0.95) * 1000}
        for name, values in latencies.items()
    }


# Memory


def _memory(home: Path, questions: int) -> dict[str, float]:
    """Resident megabytes after each tenth of the questions: four of five are searches, a third is asked again."""
    found: dict[str, float] = {}
    fresh, dice, before = _questions(), random.Random(7), [QUESTION]
    with served(home) as server, server.client() as client:
        for number in range(1, questions + 1):
            question = dice.choice(before) if dice.random() < 1 / 3 else next(fresh)
            before = [*before[-500:], question]
            client.post("/api/v1/ask" if number % ASK_EVERY == 0 else "/api/v1/search", {"question": question})
            if number % (questions // 10) == 0:
                found[str(number)] = server.memory_mb()[0]
    return found


def _memory_table(memory: dict[str, float]) -> Table:
    numbers, values = [float(number) for number in memory], list(memory.values())
    slope = statistics.linear_regression(numbers[1:], values[1:]).slope * 1000
    note = f"From the second figure on it grows by {slope:+.2f} MB in 1,000 questions, a fifth of them asked and kept."
    return Table(
        "Resident memory, in MB, after so many questions", list(memory), [[f"{one:.0f}" for one in values]], note
    )


# kill -9


def _kills(home: Path, kills: int) -> dict[str, int]:
    """How many answers had reached a client when their server was killed, and how many of them the next one lacks."""
    dice, given = random.Random(5), list[str]()
    for _ in range(kills):
        with served(home) as server:
            askers = [threading.Thread(target=_ask_on, args=[server, given]) for _ in range(4)]
            for thread in askers:
                thread.start()
            wanted = len(given) + dice.randint(5, 30)
            while len(given) < wanted:
                time.sleep(dice.random() / 100)
            server.process.kill()
            for thread in askers:
                thread.join()
    with served(home) as server, server.client() as client:
        until_served(server, "/readyz")
        lost = 0
        for answer_id in given:
            try:
                client.get(f"/api/v1/answers/{answer_id}")
            except RuntimeError:
                lost += 1
    from ragscience import Engine
    from ragscience.core.settings import load_settings

    with Engine.open(home, load_settings(home=home, offline=True)) as engine:
        errors = sum(finding.severity == "error" for finding in engine.doctor())
    return {"kills": kills, "answers given": len(given), "answers lost": lost, "errors that doctor finds": errors}


def _ask_on(server: Served, given: list[str]) -> None:
    number: int | None = None
    questions = _questions()
    with suppress(OSError, http.client.HTTPException), server.client() as client:
        while True:
            answer = client.post("/api/v1/ask", {"question": next(questions), "conversation": number})
            number = answer["conversation"]
            given.append(answer["answer_id"])
