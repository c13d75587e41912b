"""A short form of the campaign of attacks."""

from tests.serving.attacks import came_through


def test_of_thirty_attacks_none_comes_through(tmp_path):
    found, counts = came_through(20261127, range(30), tmp_path)
    assert found == []
    assert counts.total() == 30
