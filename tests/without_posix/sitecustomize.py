"""Takes what only POSIX has away from the modules of this program; libraries keep it, as they do without on Windows.

Python loads it at its start where this folder is on PYTHONPATH. What Windows differs in beyond this (its paths, files
that are open and cannot be replaced) is not imitated.
"""

import builtins
import os
import types
from pathlib import Path

# select and selectors are there on Windows, for sockets only.
MODULES = frozenset(
    ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "select", "selectors", "syslog", "termios", "tty")
)
NAMES = {
    "os": (
        "fork", "forkpty", "openpty", "register_at_fork", "getuid", "geteuid", "getgid", "getegid", "getgroups",
        "getpgid", "getpgrp", "setsid", "killpg", "uname", "sysconf", "pread", "pwrite", "fchmod", "fchown", "chown",
        "lchown", "mkfifo", "mknod", "nice", "statvfs", "sched_getaffinity", "sched_setaffinity", "sendfile", "wait",
        "wait3", "wait4", "ttyname", "getloadavg", "posix_fallocate", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK",
        "O_DIRECTORY", "O_SYNC", "O_NOCTTY",
    ),
    "signal": (
        "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGUSR1",
        "SIGUSR2", "SIGWINCH", "ITIMER_REAL", "alarm", "getitimer", "pause", "pthread_kill", "pthread_sigmask",
        "setitimer", "sigpending", "sigwait", "SIG_BLOCK", "SIG_SETMASK", "SIG_UNBLOCK",
    ),
    "socket": ("AF_UNIX", "socketpair", "send_fds", "recv_fds"),
    "time": ("tzset",),
}  # fmt: skip


class Without(types.ModuleType):
    """A module without some of its names."""

    def __init__(self, module, gone):
        super().__init__(module.__name__)
        vars(self).update(_module=module, _gone=frozenset(gone))

    def __getattr__(self, name):
        if name in vars(self)["_gone"]:
            raise AttributeError(f"{self.__name__} has no {name} on Windows")
        if (self.__name__, name) == ("os", "open"):
            return _open_no_folder
        return getattr(vars(self)["_module"], name)

    def __setattr__(self, name, value):
        setattr(vars(self)["_module"], name, value)

    def __delattr__(self, name):
        delattr(vars(self)["_module"], name)


def _open_no_folder(path, *how, **more):
    if Path(path).is_dir():
        raise PermissionError(13, "Permission denied", path)
    return os.open(path, *how, **more)


def install():
    real, made = builtins.__import__, {}

    def without_posix(name, globals=None, locals=None, fromlist=(), level=0):
        spec = (globals or {}).get("__spec__")
        importer = spec.name if spec else (globals or {}).get("__name__", "")
        if level or not str(importer).startswith("ragscience"):
            return real(name, globals, locals, fromlist, level)
        if name in MODULES:
            raise ImportError(f"There is no {name} on Windows.")
        module = real(name, globals, locals, fromlist, level)
        if module.__name__ in NAMES:
            return made.setdefault(module.__name__, Without(module, NAMES[module.__name__]))
        return module

    builtins.__import__ = without_posix


install()
