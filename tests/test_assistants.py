"""What assistants are told is true: a program that knows SKILL.md alone, and one that knows docs/serving.md alone."""

import json
import re
import shlex
import shutil
import subprocess
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.conftest import ROOT
from tests.installed_command import installed_environment
from tests.warm_processes import run_warm

SKILL = (ROOT / "SKILL.md").read_text(encoding="utf-8")
SERVING = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| [^|`]+ \| `(ragscience [^`]+)` \| (\d+) \|([^|]*)\|$", re.MULTILINE)
TOOL = re.compile(r"^\| `(\w+)` \| `(\{.*?\})`.*\|$", re.MULTILINE)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    (folder / "papers").mkdir()
    shutil.copy(ROOT / "papers" / "sample" / "ragscience.pdf", folder / "papers")
    return folder


def values(found, keys):
    """What stands under keys such as citations[].file; a list has to have an item."""
    key, _, rest = keys.partition(".")
    name, is_list = key.removesuffix("[]"), key.endswith("[]")
    inside = found[name] if name else found
    if is_list:
        assert inside, keys
    items = inside if is_list else [inside]
    return [value for item in items for value in (values(item, rest) if rest else [item])]


def test_every_command_of_the_skill_does_what_it_says(home):
    rows = ROW.findall(SKILL)
    assert SKILL.count("| `ragscience ") == len(rows) > 8
    assert rows[0][0] == "ragscience ingest"
    told = {}
    for line, code, keys in rows:
        words = [sys.executable, "-m", *shlex.split(line)]
        done = run_warm(words, cwd=home, env=installed_environment(home), capture_output=True, text=True)
        assert done.returncode == int(code), (line, done.stderr)
        for key in re.findall("`([^`]+)`", keys):
            told[key] = values(json.loads(done.stdout), key)
    assert {"ragscience.pdf"} == set(told["citations[].file"]) == set(told["hits[].file"])
    assert set(told["citations[].page"]) <= set(range(1, 7))
    assert told["refused"] == [True]  # of the last question, which the paper does not answer


def test_the_head_of_the_skill_is_short():
    name, description = re.fullmatch(r"name: (\S+)\ndescription: (.+)", SKILL.split("---\n")[1].strip()).groups()
    assert name == (ROOT / "SKILL.md").resolve().parent.name
    assert len(re.findall(r"\w+|[^\w\s]", description)) <= 120


def test_every_tool_of_the_page_on_mcp_answers(home):
    (settings,) = re.findall(r"^```json\n(\{\"mcpServers\".*)\n```$", SERVING, re.MULTILINE)
    (server,) = json.loads(settings.replace("/path/to/home", str(home)))["mcpServers"].values()
    command = StdioServerParameters(**server, env=installed_environment(home))
    tools = TOOL.findall(SERVING)

    async def call_all():
        async with Client(stdio_client(command)) as client:
            assert sorted(name for name, _ in tools) == sorted(one.name for one in (await client.list_tools()).tools)
            found = {}
            for name, given in tools:
                arguments = json.loads(given)
                if name == "fetch":
                    arguments["id"] = found["search"].structured_content["results"][0]["id"]
                found[name] = await client.call_tool(name, arguments)
            return found

    subprocess.run(["ragscience", "ingest"], cwd=home, env=installed_environment(home), capture_output=True, check=True)
    replies = anyio.run(call_all)
    assert {name: reply.content[0].text for name, reply in replies.items() if reply.is_error} == {}
    assert "(ragscience.pdf, p." in replies["ask"].structured_content["answer"]
    assert replies["check_quote"].structured_content["found"] is True
