"""The ONNX form of a model is made once, believed while it is whole, and made anew when it is not."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models.bert_session import BertSession, prepare

ROW = [101, 2054, 2003, 3086, 102]


def states(folder, cache, warnings):
    session = BertSession(folder, cache_folder=cache, expected_sha256=None, on_warning=warnings.append)
    ((_, output),) = session.run([ROW])
    return output


def prepared(folder, cache, warnings=None, expected=None):
    notify = pytest.fail if warnings is None else warnings.append
    return prepare(folder, cache_folder=cache, expected_sha256=expected, on_warning=notify)


def test_it_is_made_once_and_leaves_nothing_behind(small_bert, tmp_path):
    cache = tmp_path / "cache"
    first = prepared(small_bert, cache)
    made = (first.folder / "weights.bin").stat()
    second = prepared(small_bert, cache)
    assert second == first
    again = (second.folder / "weights.bin").stat()
    assert (again.st_ino, again.st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert [path.name for path in (cache / "onnx").iterdir()] == [first.folder.name]


@pytest.mark.parametrize("name", ["weights.bin", "model.onnx", "made.json"])
def test_a_cut_file_is_made_anew_with_one_warning(small_bert, tmp_path, name):
    cache, warnings = tmp_path / "cache", []
    expected = states(small_bert, cache, warnings)
    path = prepared(small_bert, cache).folder / name
    os.truncate(path, path.stat().st_size // 2)
    np.testing.assert_array_equal(states(small_bert, cache, warnings), expected)
    assert len(warnings) == 1
    assert "damaged" in warnings[0]
    np.testing.assert_array_equal(states(small_bert, cache, warnings), expected)
    assert len(warnings) == 1


@pytest.mark.parametrize("name", ["weights.bin", "model.onnx"])
def test_a_flipped_bit_is_seen_whatever_size_and_time_say(small_bert, tmp_path, name):
    cache, random = tmp_path / "cache", np.random.default_rng(7)
    expected = states(small_bert, cache, [])
    for _ in range(40):
        path = prepared(small_bert, cache).folder / name
        state, content = path.stat(), bytearray(path.read_bytes())
        content[random.integers(len(content))] ^= 1 << int(random.integers(8))
        path.write_bytes(content)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        warnings = []
        np.testing.assert_array_equal(states(small_bert, cache, warnings), expected)
        assert [text for text in warnings if "damaged" in text] == warnings != []


def test_weights_that_are_not_the_expected_ones_are_refused(small_bert, tmp_path):
    right = prepared(small_bert, tmp_path / "cache").sha256
    assert prepared(small_bert, tmp_path / "cache", expected=right).sha256 == right
    with pytest.raises(ModelProblem, match=right[:12]) as caught:
        prepared(small_bert, tmp_path / "cache", expected="0" * 64)
    assert "pip install" in caught.value.fix


def test_processes_that_prepare_the_same_model_at_once_all_succeed(small_bert, tmp_path):
    cache = tmp_path / "cache"
    code = (
        "import sys\nfrom pathlib import Path\nfrom ragscience.models.bert_session import prepare\n"
        "sys.stdin.readline()\n"
        "how = {'cache_folder': Path(sys.argv[2]), 'expected_sha256': None, 'on_warning': print}\n"
        "print(prepare(Path(sys.argv[1]), **how).folder)"
    )
    command = [sys.executable, "-c", code, str(small_bert), str(cache)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(4)]
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    assert len({out for out, _ in outputs}) == 1
    assert len(list((cache / "onnx").iterdir())) == 1
