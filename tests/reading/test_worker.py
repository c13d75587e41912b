import json
import subprocess
import sys

from ragscience.core.records import Document
from ragscience.core.serialization import from_json
from ragscience.reading.pdf_reader import read_pdf
from tests.pdf_factory import make_pdf


def test_stdout_carries_replies_alone_and_no_layout_models_are_loaded(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["text"])
    script = (
        "import sys\n"
        "from ragscience.reading import worker\n"
        "real = worker.read_pdf\n"
        "def noisy(path, password, *rest, **options):\n"
        "    import os\n"
        "    print('from Python'); sys.stdout.flush(); os.write(1, b'from C')\n"
        "    loaded = [n for n in ('onnxruntime', 'networkx', 'numpy') if n in sys.modules]\n"
        "    assert not loaded, loaded\n"
        "    return real(path, password)\n"
        "worker.read_pdf = noisy\n"
        "sys.exit(worker.main(['1000000000', '60']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(["read", str(path), "", ""]).encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    ready, reply = map(json.loads, done.stdout.splitlines())
    assert ready == {"ready": True}
    assert from_json(Document, reply["done"]) == read_pdf(path)
