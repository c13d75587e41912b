"""Rounds on the library in the home's own folder, whose files are damaged at rest, too."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import ClassVar

from tests.soak.answers import AUDIT, HISTORY
from tests.soak.faults import damage, files_of, kind_of
from tests.soak.messages import strange_hits
from tests.soak.rounds import fixes_named, is_done
from tests.soak.state import is_reached
from tests.soak.work_rounds import WorkRound


class EmbeddedRound(WorkRound):
    """A round on SQLite and its caches."""

    kind = "embedded"
    steps: ClassVar = {
        "ingest": 30,
        "remove": 8,
        "rebuild": 4,
        "graph": 3,
        "read": 14,
        "copy": 5,
        "two-writers": 6,
        "damage": 16,
        "older": 5,
        "serve": 4,
    }

    # Damage at rest

    def _older(self) -> None:
        """Put back older caches, the older database alone, as from a backup of it, or both; then work goes on."""
        store, backup = self.home / "vectorstore", self.world.disk / "backup"
        if not self.state.held:
            return
        kept = self.state.copy()
        shutil.copytree(store, backup)
        for _ in range(self.dice.randint(1, 2)):
            self._change_files()
            self._command("ingest.py", "sync")
            self._settle(self.state.pairs, [self.state.after_ingest(is_sync=True)], is_reached_now=True)
        what = self.dice.choice(["caches", "database", "both"])
        self.told.append(f"older {what}")
        self.world.counts[f"older {what}"] += 1
        if what != "caches":
            self.state.held, self.state.removed, self.state.unsure = kept.held, kept.removed, kept.unsure
            for log in store.glob("library.sqlite-*"):
                log.unlink()
        for path in sorted(path for path in backup.rglob("*") if path.is_file()):
            target = store / path.relative_to(backup)
            is_cache = kind_of(target, self.home) == "cache" and ".lock" not in path.name
            is_database = path.name in ("library.sqlite", "library.sqlite-wal")
            if what == "both" or (what == "caches" and is_cache) or (what == "database" and is_database):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
        shutil.rmtree(backup)
        if self.dice.random() < 0.5:
            self._settle(self.state.pairs, [self.state.pairs], is_reached_now=False)
        self._change_files()
        self._command("ingest.py", "sync")
        self._settle(self.state.pairs, [self.state.after_ingest(is_sync=True)], is_reached_now=True)

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
        if not kinds & {"database", "log"}:
            self._mend_caches(kinds)
            return
        before = self.state.pairs
        now, said, findings = self._look(may_be_damaged=True)
        lost = {md5 for _, md5 in before} - {md5 for _, md5 in now}
        if lost and not said and not findings and "log" not in kinds:
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
        self.broken += [f"it stays damaged: {said} {findings}"] if said or findings else []
        # What was removed, and papers whose files are gone, may be forgotten with a database.
        self.state.unsure |= self.state.removed
        self.state.removed = set()
        self.state.held = dict(now)
        self._recover()

    def _mend_caches(self, kinds: set[str]) -> None:
        """Whatever lies beside the database may be lost at any time."""
        self._reading_of_damaged()
        may_be_damaged = bool(kinds & {"tokens", "answers"})
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
        for place, name in ((HISTORY, "history.sqlite"), (AUDIT, "audit.jsonl")):
            store = self.home / "vectorstore"
            if answers.said[place] or not (store / name).exists():
                for path in store.glob(f"{name}*"):
                    path.unlink()
                answers.held[place], answers.promised[place], answers.said[place] = {}, {}, ""
        answers.hurt.clear()

    def _fix(self, words: Sequence[str]) -> None:
        """Do what the program named as a fix."""
        if words[0] != "python":
            subprocess.run(words, check=False)
            return
        self._command(*words[1:], codes=[1, 3, 4])

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
