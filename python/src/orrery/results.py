# SPDX-License-Identifier: Apache-2.0
"""The program's answers as dataclasses.

Fields have the names and units of `--json`: seconds, bytes, shares between 0 and 1. `raw` holds the
whole object, with the keys that are no fields. `html` is the program's page, where it has one.
"""
from __future__ import annotations

import dataclasses
import html as markup
import json
from dataclasses import dataclass

from orrery._program import Error

_PAGE_HEIGHT = 700  # pixels of a page in a notebook


class Answer:
    """The base of all answers: made of a JSON object, shown as a table or a page."""

    raw: dict
    html: str | None
    _nested: dict[str, type] = {}  # fields that are lists of answers

    @classmethod
    def read(cls, raw: dict, html: str | None = None):
        """`raw` as an object of this class; raises Error if it lacks a field."""
        names = [field.name for field in dataclasses.fields(cls)]
        missing = [name for name in names if name not in raw]
        if missing:
            raise Error(f"{cls.__name__}: error: the program's answer lacks {', '.join(missing)} "
                        "(hint: use a program and a package of the same version)")
        values = {name: raw[name] for name in names}
        for name, kind in cls._nested.items():
            values[name] = [kind.read(item) for item in values[name]]
        made = cls(**values)
        made.raw, made.html = raw, html
        return made

    def rows(self) -> list[dict]:
        """The rows of `frame()` as dicts; one row of the plain values unless said otherwise."""
        return [_plain(self.raw)]

    def frame(self):
        """`rows()` as a pandas DataFrame; raises Error without pandas."""
        try:
            import pandas
        except ImportError:
            raise Error("frame: error: pandas is not installed "
                        "(hint: pip install pandas, or use .rows())") from None
        return pandas.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        if self.html is None:
            return _table(self.rows())
        return (f'<iframe srcdoc="{markup.escape(self.html)}" width="100%" '
                f'height="{_PAGE_HEIGHT}" style="border: 0"></iframe>')


def _plain(raw: dict) -> dict:
    return {key: value for key, value in raw.items() if not isinstance(value, (dict, list))}


def _table(rows: list[dict]) -> str:
    def line(tag, cells):
        return "".join(f"<{tag}>{markup.escape(str(cell))}</{tag}>" for cell in cells)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    body = "".join(f"<tr>{line('td', [row.get(key, '') for key in columns])}</tr>" for row in rows)
    return f"<table><tr>{line('th', columns)}</tr>{body}</table>"


@dataclass
class Simulation(Answer):
    """A training step (`orrery simulate`); docs/schema/simulate.schema.json describes `raw`."""
    scenario: str
    model: str
    device: str
    cluster: str
    plan: str
    ranks: int
    global_batch_size: int
    seq_length: int
    iteration_s: float
    tokens_per_s: float
    mfu: float
    uncertainty: float  # relative, of iteration_s
    fits: bool
    peak_memory_bytes: int
    device_memory_bytes: int
    memory: dict[str, int]
    lost_mfu: dict[str, float]
    lost_s: dict[str, float]
    critical_path_s: dict[str, float]
    remarks: list[str]


@dataclass
class Job(Answer):
    """One training of several on the same cluster."""
    name: str
    model: str
    plan: str
    ranks: int
    iteration_s: float
    iteration_alone_s: float
    slowdown: float
    mfu: float
    fits: bool
    peak_memory_bytes: int


@dataclass
class JobsSimulation(Answer):
    """Several jobs on one cluster (`orrery simulate` of a scenario with `jobs`)."""
    scenario: str
    cluster: str
    ranks: int
    jobs: list[Job]
    remarks: list[str]
    _nested = {"jobs": Job}

    def rows(self) -> list[dict]:
        return [_plain(job.raw) for job in self.jobs]


@dataclass
class Candidate(Answer):
    """A plan that the search simulated. A value that the objective does not need is None."""
    plan: dict
    cluster: str
    iteration_s: float
    tokens_per_s: float
    mfu: float
    peak_memory_bytes: int
    uncertainty: float
    objective: float

    def settings(self) -> dict:
        """The plan as keys of a scenario, for `Scenario.with_`: its GPUs decide the data-parallel
        size, so that is left out."""
        return {f"plan.{key}": value for key, value in self.plan.items()
                if key != "data_parallel_size" and value != []}

    def rows(self) -> list[dict]:
        return [{**_plain(self.plan), **_plain(self.raw)}]


@dataclass
class Search(Answer):
    """The best plans, best first (`orrery search`)."""
    scenario: str
    objective: dict
    points: int
    candidates: int
    simulated: int
    fit: int
    best: list[Candidate]
    pareto: list[Candidate]
    bound_gap: float
    remarks: list[str]
    _nested = {"best": Candidate, "pareto": Candidate}

    def rows(self) -> list[dict]:
        """One row for each of the best plans."""
        return [row for candidate in self.best for row in candidate.rows()]


@dataclass
class Point:
    """A point of a sweep: its settings, and either an answer or an error."""
    scenario: str
    settings: dict
    answer: Simulation | None
    error: str | None

    @classmethod
    def read(cls, raw: dict) -> Point:
        answer = raw.get("answer")
        return cls(scenario=raw["scenario"],
                   settings={key: _value(text) for key, text in raw["settings"].items()},
                   answer=Simulation.read(answer) if answer else None, error=raw.get("error"))

    def row(self) -> dict:
        figures = _plain(self.answer.raw) if self.answer else {}
        return {**figures, "scenario": self.scenario, **self.settings, "error": self.error}


def _value(text: str):
    """A setting's text as a number or truth value where it is one."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass
class Sweep(Answer):
    """The points of a study in its order (`orrery sweep`)."""
    study: str
    points: int
    known: int  # points that had a result before
    results: list[Point]
    _nested = {"results": Point}

    def rows(self) -> list[dict]:
        """One row for each point: its settings, its figures, its error."""
        return [point.row() for point in self.results]


@dataclass
class Policy(Answer):
    """What a campaign says of one recovery plan."""
    name: str
    spares: int
    checkpoint_interval_s: float
    interruptions_mean: float
    ettr_mean: float
    goodput_mean: float
    effective_mfu_mean: float
    gpu_hours: dict[str, float]


@dataclass
class Campaign(Answer):
    """Weeks of training with faults and recovery (`orrery campaign`)."""
    scenario: str
    cluster: str
    gpus: int
    days: float
    seeds: int
    step_s: float
    mfu: float
    expected_mtbf_h: float
    goodput_mean: float
    goodput_interval: list[float]
    gpu_hours: dict[str, float]
    policies: list[Policy]
    _nested = {"policies": Policy}

    def rows(self) -> list[dict]:
        """One row for each recovery plan."""
        return [_plain(policy.raw) for policy in self.policies]


@dataclass
class ValidationRow(Answer):
    """A published case: measured and predicted step time."""
    case: str
    family: str
    measured_s: float
    predicted_s: float
    error: float  # relative
    half_width_90: float
    within_90: bool
    fits: bool


@dataclass
class Validation(Answer):
    """Published cases, simulated (`orrery validate`)."""
    cases: list[ValidationRow]
    skipped: list
    families: dict[str, dict]
    overall: dict

    @classmethod
    def read(cls, raw: dict, html: str | None = None):
        made = cls(cases=[ValidationRow.read(row) for row in raw["rows"]],
                   skipped=raw["skipped"], families=raw["families"], overall=raw["overall"])
        made.raw, made.html = raw, html
        return made

    def rows(self) -> list[dict]:
        """One row for each case."""
        return [_plain(case.raw) for case in self.cases]
