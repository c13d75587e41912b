"""The audit log: one JSON object per answer with its question, passages and settings, to look it up and repeat it."""

from ragscience.library.audit_diff import Difference, compare
from ragscience.library.audit_log import AuditLog
from ragscience.library.audit_reader import AuditReader, delete_log
from ragscience.library.audit_record import (
    SCHEMA_VERSION,
    Circumstances,
    Request,
    place_of,
    record_of,
    without_credentials,
)

__all__ = [
    "SCHEMA_VERSION",
    "AuditLog",
    "AuditReader",
    "Circumstances",
    "Difference",
    "Request",
    "compare",
    "delete_log",
    "place_of",
    "record_of",
    "without_credentials",
]
