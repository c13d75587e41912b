"""What the Containerfile makes, without an engine for containers: its user, environment and command in a root apart.

All of that root is read-only but for the volume, /tmp too: what works here writes nowhere else. RAG_IMAGE, where it
is set, names the folder of a mounted image that was built from the file; otherwise the root has this interpreter and
this code.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT
from tests.serving.test_paper_routes import finished

CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
ENTER = """
set -e
new=$1 image=$2 volume=$3 user=$4; shift 4
mount --make-rprivate /
if [ -n "$image" ]; then
    mount --bind "$image" "$new"
else
    mount -t tmpfs tmpfs "$new"
    mkdir -p "$new/opt/ragscience/bin" "$new/tmp" "$new/dev" "$new/proc" "$new/data"
    printf '#!%s\\nfrom ragscience.__main__ import main\\n\\nmain()\\n' "$PYTHON" > "$new/opt/ragscience/bin/ragscience"
    chmod 755 "$new/opt/ragscience/bin/ragscience"
    for path in $SHOWN; do
        mkdir -p "$new$path"
        mount --bind "$path" "$new$path"
        mount -o remount,bind,ro "$new$path"
    done
    for device in null urandom; do touch "$new/dev/$device"; mount --bind /dev/$device "$new/dev/$device"; done
fi
mount -t proc proc "$new/proc"
mount --bind "$volume" "$new/data"
mount -o remount,bind,ro "$new"
exec chroot "$new" setpriv --reuid "$user" --regid "$user" --clear-groups /usr/bin/env -i "$@"
"""


def said(word):
    """What the last line with this instruction has."""
    return re.findall(rf"^{word} (.+)$", CONTAINERFILE, re.MULTILINE)[-1]


@pytest.fixture
def container(tmp_path):
    """The command line that runs one of the image's commands in the container."""
    probe = ["unshare", "--mount", "mount", "--make-rprivate", "/"]
    if os.geteuid() != 0 or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system of its own")
    user = re.search(r"--uid (\d+)", CONTAINERFILE)[1]
    assert said("USER") == re.search(r"useradd .* (\w+) ", CONTAINERFILE)[1]
    for name in ("root", "volume"):
        (tmp_path / name).mkdir()
    os.chown(tmp_path / "volume", int(user), int(user))
    environment = said("ENV").split()
    image = os.environ.get("RAG_IMAGE", "")
    if not image:
        environment += [f"PYTHONPATH={ROOT}:{':'.join(path for path in sys.path if path.endswith('site-packages'))}"]
    # Without settings of the machine: an Ollama that happens to run here.
    command = ["/bin/sh", "-c", 'cd /data; exec "$0" "$@"', *json.loads(said("ENTRYPOINT"))]
    return [
        "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", str(tmp_path / "root"), image,
        str(tmp_path / "volume"), user, *environment, "RAG_OLLAMA_URL=http://127.0.0.1:9", *command,
    ]  # fmt: skip


def shown():
    """The folders that this interpreter and the code need."""
    site = [path for path in sys.path if path.endswith("site-packages")]
    found = ["/usr", "/bin", "/lib", "/lib64", "/etc", sys.base_prefix, *site, ROOT / "ragscience"]
    return {"PYTHON": str(Path(sys.executable).resolve()), "SHOWN": " ".join(map(str, found))}


def test_the_page_answers_and_all_that_is_written_is_in_the_volume(container, tmp_path):
    environment = os.environ | shown()
    token = subprocess.run(
        [*container, "serve", "token", "add", "ana", "--role", "writer"],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    command = [*container, *json.loads(said("CMD")), "--port", "0"]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            line = process.stderr.readline()
            found = re.match(r"Serving http://0.0.0.0:(\d+)/", line)
            assert found, line + process.stderr.read()
            headers = {"Host": "papers.lab", "X-Forwarded-Proto": "https", "Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}", headers=headers, timeout=120) as client:
                used(client)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # a change of user cancels what --kill-child asks of the system
    assert (tmp_path / "volume" / "vectorstore" / "library.sqlite").stat().st_uid != 0


def used(client):
    """Open the page, upload the sample paper, ask about it."""
    assert "<title>RAG Science</title>" in client.get("/").text
    with (ROOT / "papers" / "sample" / "ragscience.pdf").open("rb") as file:
        job = finished(client, client.post("/api/v1/uploads", files={"files": ("ragscience.pdf", file)}).json())
    assert job["state"] == "done", job
    answer = client.post("/api/v1/ask", json={"question": "How long is a chunk?"}).json()
    assert "(ragscience.pdf, p." in answer["answer"]
