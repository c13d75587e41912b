"""The tests. With RAG_TESTS_WITHOUT_POSIX=1 the program has nothing of what only POSIX has (tests/without_posix)."""

import os

if os.environ.get("RAG_TESTS_WITHOUT_POSIX"):
    from pathlib import Path

    import tests.without_posix.sitecustomize  # noqa: F401

    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).with_name("without_posix")), os.environ.get("PYTHONPATH", "")]
    )
