"""A terminal: a pty, and an emulator that reads what comes out of it as a person does."""

import codecs
import fcntl
import os
import selectors
import struct
import sys
import termios
from functools import partial

import pyte
from pyte import modes
from wcwidth import wcwidth

from tests.warm_processes import ROOT, WarmProcess

ROWS = 50
PATIENCE = 120
"""Seconds without a byte, after which a test gives up."""


class Emulator(pyte.Screen):
    """The screen with all that scrolled off it; it knows which rows the terminal itself had to break."""

    def __init__(self, columns, rows, answer):
        self.scrolled = []
        self.broken = []
        """(row, the text of that row) for each row that was full when more of its line came."""
        self._answer = answer
        super().__init__(columns, rows)

    def draw(self, data):
        for char in data:
            if self.cursor.x == self.columns and modes.DECAWM in self.mode and wcwidth(char) > 0:
                self.broken.append((len(self.scrolled) + self.cursor.y, self._text(self.buffer[self.cursor.y]) + char))
            super().draw(char)

    def index(self):
        if self.cursor.y == self.lines - 1:
            self.scrolled.append(self._text(self.buffer[0]))
        super().index()

    def write_process_input(self, data):
        """What a terminal says of itself when it is asked, as where the cursor is."""
        self._answer(data)

    @property
    def row(self):
        """The row of the cursor, counted from the first that was ever shown."""
        return len(self.scrolled) + self.cursor.y

    @property
    def shown(self):
        """All rows, from the first to the cursor's, without blanks at their ends."""
        return self.scrolled + [self._text(self.buffer[y]) for y in range(self.cursor.y + 1)]

    def _text(self, line):
        return "".join(line[x].data for x in range(self.columns)).rstrip()


def readable(files, seconds):
    """Those of the files or descriptors that have something to read, within so many seconds; of any number."""
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(seconds)]


class Terminal:
    """A pty of that many columns, its emulator, and all bytes that a program wrote."""

    def __init__(self, columns, rows=ROWS):
        self._ours, self._theirs = os.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.written = b""
        self.columns = columns
        self.emulator = Emulator(columns, rows, self.type)
        self._stream = pyte.Stream(self.emulator)
        self._decode = codecs.getincrementaldecoder("utf-8")().decode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._ours)
        os.close(self._theirs)

    def streams(self):
        """What subprocess.Popen needs for a process whose terminal this is."""
        end = self._theirs
        return {"stdin": end, "stdout": end, "stderr": end, "start_new_session": True}

    def type(self, text):
        """As if a person typed it."""
        os.write(self._ours, text.encode())

    def read_until(self, is_done, *others):
        """Read what comes until `is_done()`; it is asked whenever something came, here or at one of `others`."""
        while not is_done():
            ready = readable([self._ours, *others], PATIENCE)
            assert ready, f"nothing came for {PATIENCE} s; the screen:\n" + "\n".join(self.emulator.shown)
            if self._ours in ready:
                self._read()

    def is_silent(self, seconds):
        """Whether nothing comes for so long."""
        return not readable([self._ours], seconds)

    def read_rest(self):
        """Read what is there already."""
        while readable([self._ours], 0):
            self._read()

    def _read(self):
        new = os.read(self._ours, 65536)
        self.written += new
        self._stream.feed(self._decode(new))


class CommandTerminal(Terminal):
    """A script of the program on a terminal of its own."""

    def __init__(self, home, script, *args, columns=120, rows=ROWS, **environment):
        super().__init__(columns, rows)
        self._waited_for = 0
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = WarmProcess(
            [sys.executable, str(ROOT / script), *map(str, args)],
            env=kept | {"RAG_HOME": str(home), "TERM": "xterm-256color", **environment},
            cwd=home,
            **self.streams(),
        )

    def __exit__(self, *given):
        self.process.kill()
        self.process.wait()
        super().__exit__(*given)

    @property
    def rows(self):
        """All rows of the screen, with those below the cursor."""
        return [*self.emulator.scrolled, *(row.rstrip() for row in self.emulator.display)]

    def see(self, *texts):
        """Read until each text is on the screen."""
        self.read_until(lambda: all(text in "\n".join(self.rows) for text in texts))

    def wait_for(self, *texts):
        """Read until each text comes, one after the other and after what was waited for before."""
        for text in texts:
            self.read_until(partial(self._has_come, text.encode()), self.process)

    def _has_come(self, text):
        if ended := self.process.poll() is not None:
            self.read_rest()
        at = self.written.find(text, self._waited_for)
        assert at >= 0 or not ended, f"{text!r} never came: {self.said[-1500:]}"
        self._waited_for = max(self._waited_for, at + len(text) if at >= 0 else 0)
        return at >= 0

    def end(self):
        """The exit code, once the command has ended."""
        self.read_until(lambda: self.process.poll() is not None, self.process)
        self.read_rest()
        return self.process.wait()

    @property
    def said(self):
        """All that was written, as a text."""
        return self.written.decode(errors="replace").replace("\r\n", "\n")
