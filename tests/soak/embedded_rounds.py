"""Rounds on the library in the home's own folder, whose files are damaged at rest, too."""

from __future__ import annotations

import shutil
from typing import ClassVar

from tests.soak.faults import kind_of
from tests.soak.mending import MendingRound


class EmbeddedRound(MendingRound):
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
