# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the program `orrery`."""
from __future__ import annotations

import errno
import importlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

# "PLACE: error: WHAT (hint: HINT)"; a sweep writes "error: PLACE: WHAT (hint: HINT)".
_PROBLEM = re.compile(r"(?:error: )?(?P<where>.*?:\d+:\d+|.*?(?=: error: )): (?:error: )?"
                      r"(?P<what>.*?)(?: \(hint: (?P<hint>.*)\))?$")
_PLACE = re.compile(r"(?P<file>.*):(?P<line>\d+):(?P<column>\d+)$")
# The bar that the program redraws on a terminal (scenarios/report/render/progress.h).
_PROGRESS = re.compile(r"\r([^\r\n]*)\033\[K")


@dataclass(frozen=True)
class Problem:
    """One line of the program's errors. `line` and `column` are None outside of files."""
    where: str
    what: str
    hint: str | None
    line: int | None
    column: int | None


class Error(Exception):
    """The program's errors; `str` gives them as the program prints them.

    `problems` holds one Problem for each line of the form `PLACE: error: WHAT (hint: HINT)`.
    `status` is the program's exit status, or None if it did not run.
    """

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.status = status
        self.problems = _problems(message)


def _problems(text: str) -> list[Problem]:
    found = []
    for line in text.splitlines():
        match = _PROBLEM.match(line)
        if match:
            place = _PLACE.match(match["where"])
            found.append(Problem(
                where=place["file"] if place else match["where"], what=match["what"],
                hint=match["hint"], line=int(place["line"]) if place else None,
                column=int(place["column"]) if place else None))
    return found


def find_program() -> str:
    """The path of the program: $ORRERY, else on the PATH, else beside this checkout."""
    chosen = os.environ.get("ORRERY")
    found = shutil.which(chosen or "orrery")
    if found:
        return found
    if chosen:
        raise Error(f"ORRERY: error: '{chosen}' is not a program (hint: the path of orrery)")
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "scenarios" / "catalogue").is_dir():
        built = checkout / "build" / "bin" / "orrery"
        if os.access(built, os.X_OK):
            return str(built)
    raise Error("orrery: error: the program is not found; this package holds only its Python part "
                "(hint: build it in a checkout and set the environment variable ORRERY to "
                "build/bin/orrery, or install its Debian package)")


def answer(command: str, *arguments: str, page: bool = True) -> tuple[dict, str | None]:
    """The object that `orrery COMMAND ARGUMENTS --json` prints, and its page of `--html`.

    Raises Error if the program fails.
    """
    with tempfile.TemporaryDirectory(prefix="orrery-") as folder:
        page_file, json_file = Path(folder, "page.html"), Path(folder, "answer.json")
        line = [find_program(), command, *arguments, "--json"]
        if page:
            line += ["--html", str(page_file)]
        with json_file.open("wb") as output:
            status, errors = _run(line, output)
        if status != 0:
            raise Error(errors.strip() or f"orrery {command} ended with status {status}", status)
        return (json.loads(json_file.read_text("utf-8")),
                page_file.read_text("utf-8") if page else None)


def _run(line: list[str], output) -> tuple[int, str]:
    """(exit status, standard error). The program draws its progress bar where its standard error
    is a terminal, hence the pseudo-terminal."""
    draw = _bar()
    reader, writer = pty.openpty() if draw else os.pipe()
    errors = b""
    try:
        with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=writer) as process:
            os.close(writer)
            try:
                while chunk := _read(reader):
                    errors += chunk
                    if draw and chunk.startswith(b"\r"):
                        draw(chunk.decode(errors="replace"))
            except BaseException:
                process.send_signal(signal.SIGINT)
                raise
    finally:
        os.close(reader)
    text = errors.decode(errors="replace").replace("\r\n", "\n")
    return process.returncode, _PROGRESS.sub("", text)


def _bar():
    """Draws what the program writes for its bar, on a terminal or in a notebook; elsewhere None."""
    if sys.stderr is not None and sys.stderr.isatty():
        return _draw_on_terminal
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    return _NotebookBar() if getattr(shell, "kernel", None) else None


def _draw_on_terminal(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class _NotebookBar:
    """A line of a cell's output. It appears with the first bar, and is empty when the bar ends."""

    def __init__(self):
        self._shown = None

    def __call__(self, text: str) -> None:
        bars = _PROGRESS.findall(text)
        if not bars:
            return
        line = {"text/plain": bars[-1]}
        if self._shown is None:
            display = importlib.import_module("IPython.display").display
            self._shown = display(line, raw=True, display_id=True)
        else:
            self._shown.update(line, raw=True)


def _read(reader: int) -> bytes:
    try:
        return os.read(reader, 65536)
    except OSError as error:
        if error.errno == errno.EIO:  # a pseudo-terminal's end on Linux
            return b""
        raise
