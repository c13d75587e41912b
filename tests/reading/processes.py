"""The worker processes as the operating system sees them, and waiting for what they do."""

import threading
import time

import psutil

PATIENCE_SECONDS = 60


def until(condition):
    """Wait for the condition to hold, and give what it gave; a condition that never does fails the test."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = threading.Event()
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        pause.wait(0.01)
    return value


def workers_of(pid=None):
    """The living workers that a process, this one by default, has started."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        try:
            if "ragscience.reading.worker" in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


def reader_of(path, pid=None):
    """The worker that has this file open now, or None."""
    for worker in workers_of(pid):
        try:
            if any(file.path == str(path) for file in worker.open_files()):
                return worker
        except psutil.NoSuchProcess:
            continue
    return None


def is_gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
