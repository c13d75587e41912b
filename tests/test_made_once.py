"""The fixture `made_once`: what fails once is made anew by the next that needs it."""

import pytest


def test_what_failed_leaves_nothing_to_the_next(made_once):
    def fails(folder):
        (folder / "half").touch()
        raise ValueError("the first")

    with pytest.raises(ValueError, match="the first"):
        made_once("of-this-test", fails)
    folder = made_once("of-this-test", lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]
    assert made_once("of-this-test", fails) == folder
