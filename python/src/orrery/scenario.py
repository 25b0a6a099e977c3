# SPDX-License-Identifier: Apache-2.0
"""Scenarios, and the commands that read them."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path

from orrery._program import answer
from orrery.results import Campaign, JobsSimulation, Search, Simulation, Sweep, Validation


def load(source: str | os.PathLike) -> Scenario:
    """A scenario of a YAML file, or of YAML text (a string of several lines)."""
    return Scenario(source)


class Scenario:
    """A scenario and the keys that are changed in it.

    The program reads the file at each call and reports wrong keys and values then.
    """

    def __init__(self, source: str | os.PathLike):
        self.settings: dict[str, object] = {}
        self._folder = None
        if isinstance(source, str) and "\n" in source:
            self._folder = _Folder()
            self.path = os.path.join(self._folder.path, "scenario.yaml")
            Path(self.path).write_text(source, "utf-8")
        else:
            self.path = os.fspath(source)

    def __repr__(self) -> str:
        return f"Scenario({self.path!r}, settings={self.settings!r})"

    def set(self, key: str, value) -> Scenario:
        """Changes one key here, e.g. set("plan.global_batch_size", 768); returns the scenario.

        A string is YAML as in `--set` ("400 Gbps"); other values are converted.
        """
        self.settings[key] = value
        return self

    def with_(self, settings: Mapping[str, object] | None = None, **values) -> Scenario:
        """A copy with changed keys: with_({"plan.micro_batch_size": 2}) or, with `__` for the
        point, with_(plan__micro_batch_size=2)."""
        copy = Scenario.__new__(Scenario)
        copy.path, copy._folder = self.path, self._folder
        copy.settings = {**self.settings, **(settings or {}),
                         **{key.replace("__", "."): value for key, value in values.items()}}
        return copy

    def _arguments(self) -> list[str]:
        changes = [f"{key}={_text(value)}" for key, value in self.settings.items()]
        return [os.path.abspath(self.path) if self.path.startswith("-") else self.path,
                *(word for change in changes for word in ("--set", change))]

    def simulate(self, *, profile: str | os.PathLike | None = None,
                 fold: bool = True) -> Simulation | JobsSimulation:
        """A training step; `profile` is a CSV file of measured times."""
        options = ["--profile", os.fspath(profile)] if profile else []
        if not fold:
            options.append("--no-fold")
        raw, html = answer("simulate", *self._arguments(), *options)
        return (JobsSimulation if "jobs" in raw else Simulation).read(raw, html)

    def search(self, *, jobs: int | None = None, sensitivity: bool = False) -> Search:
        """The best plans; `jobs` simulations at a time."""
        options = _jobs("--jobs", jobs) + (["--sensitivity"] if sensitivity else [])
        return Search.read(*answer("search", *self._arguments(), *options))

    def campaign(self, *, threads: int | None = None) -> Campaign:
        """Weeks of training with faults and recovery; `threads` seeds at a time."""
        return Campaign.read(*answer("campaign", *self._arguments(), *_jobs("--jobs", threads)))

    def sweep(self, grid: Mapping[str, Iterable] | None = None,
              points: Iterable[Mapping[str, object]] | None = None, *,
              results: str | os.PathLike | None = None, jobs: int | None = None) -> Sweep:
        """All combinations of `grid`, with each of `points`, by one process of the program.

        `results` is an SQLite file that keeps the finished points for the next call.
        """
        lines = [f"scenario: {json.dumps(os.path.abspath(self.path))}"]
        if self.settings:
            lines += ["set:", *_entries(self.settings)]
        if grid is not None:
            lines.append("grid:")
            for key, values in grid.items():
                lines += [f"  {json.dumps(key)}:", *(f"    - {_text(value)}" for value in values)]
        if points is not None:
            lines.append("points:")
            for point in points:
                first, *others = _entries(point)
                lines += [first.replace("  ", "  - ", 1), *("  " + other for other in others)]
        with tempfile.TemporaryDirectory(prefix="orrery-") as folder:
            file = Path(folder, "study.yaml")
            file.write_text("\n".join(lines) + "\n", "utf-8")
            return sweep(file, results=results, jobs=jobs)


class _Folder:
    """A folder for a scenario's text: its copies share it, and it goes with the last of them."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="orrery-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _text(value) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _entries(settings: Mapping[str, object]) -> list[str]:
    """The lines of a YAML map; its strings are YAML, as in `--set`."""
    return [f"  {json.dumps(key)}: {_text(value)}" for key, value in settings.items()]


def _jobs(option: str, count: int | None) -> list[str]:
    return [] if count is None else [option, str(count)]


def _scenario(source) -> Scenario:
    return source if isinstance(source, Scenario) else load(source)


def simulate(scenario, settings: Mapping[str, object] | None = None, **options):
    """`load(scenario).with_(settings).simulate(**options)`"""
    return _scenario(scenario).with_(settings).simulate(**options)


def search(scenario, settings: Mapping[str, object] | None = None, **options) -> Search:
    """`load(scenario).with_(settings).search(**options)`"""
    return _scenario(scenario).with_(settings).search(**options)


def campaign(scenario, settings: Mapping[str, object] | None = None, **options) -> Campaign:
    """`load(scenario).with_(settings).campaign(**options)`"""
    return _scenario(scenario).with_(settings).campaign(**options)


def sweep(study: str | os.PathLike, *, results: str | os.PathLike | None = None,
          jobs: int | None = None) -> Sweep:
    """The points of a study file; Scenario.sweep makes one of a scenario."""
    with tempfile.TemporaryDirectory(prefix="orrery-") as folder:
        kept = os.fspath(results) if results else os.path.join(folder, "results.sqlite")
        options = ["--output", kept, *_jobs("--jobs", jobs)]
        return Sweep.read(*answer("sweep", os.fspath(study), *options))


def validate(cases: str | os.PathLike, *, families: Iterable[str] = (),
             assume: Mapping[str, object] | None = None, jobs: int | None = None) -> Validation:
    """Published training steps of a CSV file beside their predictions."""
    options = _jobs("--jobs", jobs)
    for family in families:
        options += ["--family", family]
    for column, value in (assume or {}).items():
        options += ["--assume", f"{column}={_text(value)}"]
    return Validation.read(*answer("validate", os.fspath(cases), *options, page=False))
