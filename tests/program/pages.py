# SPDX-License-Identifier: Apache-2.0
"""The project's Markdown pages as data: their commands, their outputs, their links, their prose.

A page shows commands and what they print in these forms:

1. A fenced block of `sh`: its commands run, one shell a block, and must end with status 0.
2. `<!-- output -->` ... `<!-- end -->` after such a block: what the block prints.
   `<!-- output | FILTER -->`: what it prints, through a shell filter.
   `<!-- output: COMMAND -->`: what another command prints, for example a part of a long answer.
   These outputs are compared byte by byte, but for times and memory of this very run (MASKS).
3. `<!-- measured DATE -->`, `<!-- measured DATE | FILTER -->` and `<!-- measured DATE: COMMAND -->`
   likewise hold measurements of a machine, which differ from run to run, their date and the
   program's version. They are not compared, and a COMMAND of its own is run only to refresh them
   (update_docs.py --measured).

Blocks of other languages (`text`, `yaml`) are not run.
"""
import os
import re
import signal
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT_S = 600  # of one command

# What an answer says about its own run.
MASKS = [
    (re.compile(r"ops in [\d.,]+ (us|ms|s|min) and [\d.,]+ [KMG]?i?B"), "ops in TIME and MEMORY"),
]

SHELL = re.compile(r"^```sh\n(.*?)^```$", re.S | re.M)
OUTPUT = re.compile(
    r"<!-- (?P<kind>output|measured (?P<date>[^:|>]+?))(?: *(?P<how>[:|]) (?P<words>.*?))? -->\n"
    r"(?P<shown>.*?)<!-- end -->", re.S)


def page_names():
    """All pages, as paths from the root."""
    names = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "scenarios/README.md"]
    for folder, _, files in os.walk(os.path.join(ROOT, "docs")):
        names += [os.path.relpath(os.path.join(folder, file), ROOT)
                  for file in files if file.endswith(".md")]
    return sorted(name for name in names if os.path.exists(os.path.join(ROOT, name)))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class Piece:
    """A block of commands (`shown` is None) or an output."""

    def __init__(self, text, match):
        self.line = text.count("\n", 0, match.start()) + 1
        self.start, self.end = match.span()
        parts = match.groupdict()
        self.shown = parts.get("shown")
        self.date = parts.get("date")
        self.how = parts.get("how")
        self.words = parts.get("words")
        self.commands = None if "kind" in parts else shell_commands(match.group(1))

    @property
    def measured(self):
        return self.date is not None

    def head(self, date=None):
        kind = "output" if not self.measured else f"measured {date or self.date}"
        tail = {None: "", ":": f": {self.words}", "|": f" | {self.words}"}[self.how]
        return f"<!-- {kind}{tail} -->"


def shell_commands(block):
    return "".join(line[2:] if line.startswith("$ ") else line
                   for line in block.splitlines(keepends=True))


def pieces(text):
    """Commands and outputs in the order of the page."""
    outputs = [Piece(text, match) for match in OUTPUT.finditer(text)]
    inside = [(piece.start, piece.end) for piece in outputs]
    found = outputs + [Piece(text, match) for match in SHELL.finditer(text)
                       if not any(a <= match.start() < b for a, b in inside)]
    return sorted(found, key=lambda piece: piece.start)


def release():
    """The version of the program that this checkout builds."""
    return re.search(r"project\(orrery VERSION ([\d.]+)", read("CMakeLists.txt")).group(1)


def block_of(output, date=None):
    """What stands between the comments for this output: a table as it is, else a block of text; and
    the date and the version of a measurement."""
    lines = "\n".join(line.rstrip() for line in output.strip("\n").split("\n"))
    block = f"{lines}\n" if lines.startswith("|") else f"```text\n{lines}\n```\n"
    return block if date is None else f"{block}\nMeasured on {date} with Orrery {release()}.\n"


def masked(text):
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


# How far long work is: a slow machine says it.
PROGRESS = re.compile(r"^[^:\n]{1,30}: \d+ %(, \d+ s left)?\n", re.MULTILINE)


class Checkout:
    """A folder that looks like the checkout (links to its files), so that what commands write stays
    out of it. There `./orrery` is the built program, `./orrery test` lists the tests, and build/ is
    empty."""

    def __init__(self, program, build, limit_s=LIMIT_S):
        self.limit_s = limit_s
        self.folder = tempfile.TemporaryDirectory(prefix="orrery-pages-")
        self.path = os.path.join(self.folder.name, "checkout")
        os.mkdir(self.path)
        for name in os.listdir(ROOT):
            if name not in ("orrery", "build", ".git"):
                os.symlink(os.path.join(ROOT, name), os.path.join(self.path, name))
        os.mkdir(os.path.join(self.path, "build"))
        shared = os.path.join(ROOT, "..", "shared")
        if os.path.exists(shared):
            os.symlink(os.path.realpath(shared), os.path.join(self.folder.name, "shared"))
        script = os.path.join(self.path, "orrery")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n"
                       f"if [ \"$1\" = test ]; then exec ctest --test-dir '{build}' -N"
                       " --no-tests=error; fi\n"
                       f"exec '{program}' \"$@\"\n")
        os.chmod(script, 0o755)

    def run(self, command, given=None):
        """(exit status, standard output and then standard error); 124 after LIMIT_S"""
        with subprocess.Popen(
                ["bash", "-o", "pipefail", "-c", command], cwd=self.path, text=True,
                errors="replace",  # a byte-wise model generates any bytes
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as started:
            try:
                out, err = started.communicate(given, timeout=self.limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, signal.SIGKILL)  # with all that it started
                return 124, f"longer than {self.limit_s} s\n"
        return started.returncode, out + PROGRESS.sub("", err)

    def close(self):
        self.folder.cleanup()


class Run:
    """Runs a page's commands from top to bottom."""

    def __init__(self, checkout):
        self.checkout = checkout
        self.printed = None  # by the block of commands before

    def commands(self, piece):
        status, self.printed = self.checkout.run(piece.commands)
        return status

    def output(self, piece):
        """(exit status, output) of an output's command or filter."""
        if piece.how == ":":
            return self.checkout.run(piece.words)
        if self.printed is None:
            return 1, "no block of commands stands before this output\n"
        if piece.how == "|":
            return self.checkout.run(piece.words, self.printed)
        return 0, self.printed


def built_program(build):
    program = os.path.join(build, "bin", "orrery")
    if not os.path.exists(program):
        raise SystemExit(f"{program} is not built: ninja -C {build} orrery")
    return program
