"""`query.py serve` and `query.py mcp` as processes: how they begin, what they refuse, how they end."""

import re
import signal
import subprocess
import sys

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.conftest import ROOT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_says_where_it_is_and_ends_in_order(library, number):
    command = [sys.executable, str(ROOT / "query.py"), "serve", "--port", "0", "--home", str(library)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := re.match(r"Serving (http://127\.0\.0\.1:\d+)/ \(Ctrl-C ends\)", line):
                break
        else:
            pytest.fail("".join(lines))
        with httpx.Client(base_url=found[1], timeout=60) as client:
            while True:  # it takes connections before it serves them
                if client.get("/readyz").json() == {"status": "ok", "papers": 3}:
                    break
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(60) == 0
        assert "Traceback" not in rest


def test_mcp_speaks_over_stdin_and_stdout(library):
    async def names():
        command = StdioServerParameters(
            command=sys.executable, args=[str(ROOT / "query.py"), "mcp", "--home", str(library)]
        )
        async with Client(stdio_client(command)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert {"search", "fetch"} <= set(anyio.run(names))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_only_this_machine_is_served(asked, host):
    ran = asked.query("serve", "--host", host)
    assert ran.code == 2
    assert "from other machines" in ran.err


def test_a_port_that_is_taken_is_said(asked):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = asked.query("serve", "--port", str(taken.getsockname()[1]))
    assert ran.code == 2
    assert "Give another --port." in ran.err


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_home_that_is_not_there_is_said(asked, tmp_path, command):
    assert asked.query(command, "--home", tmp_path / "nosuch").code == 2
