"""A library on LanceDB: on a disk or in object storage, for more passages than the embedded store is made for."""

from ragscience.library.lance_library import LanceLibrary

__all__ = ["LanceLibrary"]
