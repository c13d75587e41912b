"""Files that are damaged between two commands, and what the program says mends them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tests.soak.answers import AUDIT, HISTORY
from tests.soak.faults import TRUTH, damage, files_of, kind_of
from tests.soak.messages import strange_hits
from tests.soak.rounds import fixes_named, is_done
from tests.soak.state import is_reached
from tests.soak.work_rounds import WorkRound

_FILES = dict.fromkeys((HISTORY, AUDIT), "history.sqlite")


class MendingRound(WorkRound):
    """A round whose files are damaged at rest."""

    def _damage(self) -> None:
        """Damage one to three files between two commands, and mend it as the program says."""
        files = files_of(self.home)
        if not files:
            return
        dice, kinds = self.dice, set()
        for path in dice.sample(files, min(len(files), dice.randint(1, 3))):
            kinds.add(kind_of(path, self.home))
            how = damage(path, dice)
            self.told.append(how)
            if kind_of(path, self.home) == "answers":
                self.state.answers.damaged(path, how)
        self._mend(kinds)

    def _mend(self, kinds: set[str]) -> None:
        for kind in sorted(kinds):
            self.world.counts[f"damaged {kind}"] += 1
        if not kinds & TRUTH:
            self._mend_caches(kinds)
            return
        before = self.state.pairs
        now, said, findings = self._look(may_be_damaged=True)
        lost = {md5 for _, md5 in before} - {md5 for _, md5 in now}
        if lost and not said and not findings and not self._may_be_unsaid(kinds):
            self.broken.append(f"{len(lost)} papers are gone with the damage, and nothing is said of it")
        self._reading_of_damaged()
        for _ in range(5):
            fixes = fixes_named(findings, said)
            if not fixes or self.broken:
                break
            for words in fixes:
                self._fix(words)
            now, said, findings = self._look(may_be_damaged=True)
        self._mend_answers()
        # A paper whose file is gone, or is another paper's now, cannot be read again; the next sync takes it out.
        held, disk = self.state.held, self.state.disk
        gone = [name for name in held if disk.get(name) != held[name] and disk.get(name) in {None, *held.values()}]
        stays = [text for text in (said, *(one[1] for one in findings)) if text and not any(map(text.count, gone))]
        self.broken += [f"it stays damaged: {stays} {findings}"] if stays else []
        # What was removed, and papers whose files are gone, may be forgotten with a database.
        self.state.unsure |= self.state.removed
        self.state.removed = set()
        self.state.held = dict(now)
        self._recover()

    def _may_be_unsaid(self, kinds: set[str]) -> bool:
        """Whether nobody can know of what was lost with such files."""
        return "log" in kinds

    def _mend_caches(self, kinds: set[str]) -> None:
        """Whatever lies beside the database may be lost at any time."""
        self._reading_of_damaged()
        may_be_damaged = bool(kinds & {"answers"})
        now, said, findings = self._look(may_be_damaged=may_be_damaged)
        self.broken += is_reached(self.state.pairs, now, ())
        if may_be_damaged and (said or findings):
            for words in fixes_named(findings, said):
                self._fix(words)
        self._mend_answers()
        if may_be_damaged and (said or findings):
            self._settle(self.state.pairs, [self.state.pairs], is_reached_now=True)

    def _mend_answers(self) -> None:
        """What the program says of damaged answers is done: their file is moved away."""
        answers = self.state.answers
        for place, name in _FILES.items():
            store = self.home / "vectorstore"
            if answers.said[place] or not (store / name).exists():
                for path in store.glob(f"{name}*"):
                    path.unlink()
                answers.held[place], answers.promised[place], answers.said[place] = {}, {}, ""
        answers.hurt.clear()

    def _forget_moved(self) -> None:
        """Of a file that was moved away as the program says nothing is held, and no answer that went with it."""
        for place, name in _FILES.items():
            if not (self.home / "vectorstore" / name).exists():
                self.state.answers.held[place], self.state.answers.promised[place] = {}, {}

    def _fix(self, words: Sequence[str]) -> None:
        """Do what the program named as a fix, and once what that names where it fails."""
        if words[0] != "python":
            subprocess.run(words, check=False)
            self._forget_moved()
            return
        ran = self._command(*words[1:], codes=[1, 3, 4])
        if not is_done(ran):
            for other in fixes_named((), ran.err):
                if other != words and other[0] == "python":
                    self._command(*other[1:], codes=[1, 3, 4])

    def _reading_of_damaged(self) -> None:
        """What commands show of a damaged library is true, and how they fail is clear."""
        question = self.dice.choice(list(self.world.truths.values())).question
        if self.dice.random() < 0.6:
            ran = self._command("query.py", "search", question, "--json", codes=[1, 4, 5])
            if is_done(ran):
                self.broken += strange_hits(ran.out, self.world.truths)
        if self.dice.random() < 0.6:
            self._ask(question, codes=[1, 4, 5])
        if self.dice.random() < 0.3:
            self._command("ingest.py", "list", codes=[1])
