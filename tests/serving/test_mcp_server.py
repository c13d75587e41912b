"""The SDK's own client, unmodified: in memory, over stdio and over HTTP."""

import json

import anyio
import pytest
from mcp import Client

from ragscience import Engine
from ragscience.core.settings import load_settings
from ragscience.serving.mcp_server import LibraryServer

NAMES = ["search", "read_page", "list_papers", "cite", "fetch", "ask", "check_quote"]


@pytest.fixture(scope="module")
def engine(served_home):
    with Engine.open(served_home, load_settings(home=served_home, offline=True)) as opened:
        yield opened


def with_client(server, act):
    """What `act(client)` gives, over whichever transport `server` stands for."""

    async def run():
        async with Client(server) as client:
            return await act(client)

    return anyio.run(run)


def called(engine, name, **arguments):
    return with_client(LibraryServer(engine), lambda client: client.call_tool(name, arguments))


async def seen(client):
    tools = await client.list_tools()
    found = await client.call_tool("search", {"query": "flight speed of bees in fog"})
    return [tool.name for tool in tools.tools], found.structured_content["results"][0]["file"]


def test_in_memory(engine):
    assert with_client(LibraryServer(engine), seen) == (NAMES, "bees.pdf")


def test_over_http(address):
    assert with_client(f"{address}/mcp", seen) == (NAMES, "bees.pdf")


def test_what_search_found_can_be_fetched(engine):
    found = called(engine, "search", query="flight speed of bees in fog").structured_content["results"][0]
    assert {"id", "title", "url", "text", "page"} <= set(found)
    whole = called(engine, "fetch", id=found["id"])
    assert whole.structured_content["text"].startswith(found["text"][:40])
    assert json.loads(whole.content[0].text) == whole.structured_content


def test_an_answer_names_its_pages(engine):
    answer = called(engine, "ask", question="How fast do bees fly in fog?").structured_content
    assert "3.7" in answer["answer"]
    assert {"file": "bees.pdf", "page": 2} in [{"file": one["file"], "page": one["page"]} for one in answer["sources"]]


@pytest.mark.parametrize("paper", [{}, {"paper": "bees"}])
def test_quotes_are_checked_word_for_word(engine, paper):
    held = called(engine, "check_quote", quote="The mean flight speed in fog was 3.7 metres", **paper)
    assert held.structured_content["places"] == [{"file": "bees.pdf", "page": 2}]
    other = called(engine, "check_quote", quote="The mean flight speed in fog was 4.7 metres", **paper)
    assert other.structured_content["found"] is False


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search", {"query": "x", "colour": "red"}, "colour"),
        ("search", {}, "query"),
        ("search", {"query": "bees", "paper": "nosuch"}, "nosuch"),
        ("search", {"query": "bees", "kind": "poem"}, "poem"),
        ("search", {"query": "bees", "tag": "nosuch"}, "No paper has the tag 'nosuch'"),
        ("ask", {"question": "Why bees?", "collection": "nosuch"}, "No paper has the collection 'nosuch'"),
        ("search", {"query": "bees", "max_tokens": 1}, "max_tokens"),
        ("search", {"query": "bees", "kind": "reference"}, "No passage fits"),
        ("fetch", {"id": "../../etc/passwd"}, "no passage"),
        ("fetch", {"id": "0" * 12 + "#0"}, "no passage"),
        ("read_page", {"paper": "bees", "page": 77}, "no page 77"),
        ("ask", {"question": "bees", "max_tokens": True}, "max_tokens"),
        ("calculate", {"expression": "1+1"}, "no tool"),
        ("nosuch", {}, "no tool"),
    ],
)
def test_an_error_is_an_error_and_never_an_empty_list(engine, name, arguments, words):
    reply = called(engine, name, **arguments)
    assert reply.is_error
    assert words in reply.content[0].text


def test_the_prompt_asks_for_citations(engine):
    async def made(client):
        prompts = (await client.list_prompts()).prompts
        return await client.get_prompt(prompts[0].name, {"question": "Why fog?"})

    text = with_client(LibraryServer(engine), made).messages[0].content.text
    assert "(file.pdf, p.N)" in text
    assert "Why fog?" in text
