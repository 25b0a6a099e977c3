#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a build and its tests took, from the logs that ninja and ctest keep: nothing is run.

    python3 tests/bench/slowest.py [BUILD FOLDER] [ROWS]

Seconds are wall time, so compare only builds and runs of an otherwise idle machine. A build counts
if it began with an empty compiler cache (CCACHE_DISABLE=1 ./orrery test).
"""
import collections
import pathlib
import sys


def steps_of(build):
    """Seconds of the last compilation of each object that is there."""
    steps = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, _ = line.split("\t")
        if output.endswith((".o", ".gch")) and (build / output).exists():
            steps[output] = (int(end) - int(begin)) / 1000
    return sorted(((seconds, output) for output, seconds in steps.items()), reverse=True)


def tests_of(build):
    """Mean seconds of each test over its runs (CTestCostData.txt: name, runs, seconds)."""
    tests = []
    for line in (build / "Testing/Temporary/CTestCostData.txt").read_text().splitlines():
        fields = line.split()
        if len(fields) == 3 and int(fields[1]) > 0:
            tests.append((float(fields[2]), fields[0]))
    return sorted(tests, reverse=True)


def folder_of(output):
    parts = output.split("/")
    return "/".join(parts[: 2 if parts[0] in ("tests", "scenarios") else 1])


def show(title, rows, count):
    print(f"{title}: {len(rows)}, together {sum(seconds for seconds, _ in rows):.0f} s")
    for seconds, name in rows[:count]:
        print(f"{seconds:8.1f}  {name}")


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    compiled = steps_of(build)
    rooms = collections.Counter()
    for seconds, output in compiled:
        rooms[folder_of(output)] += seconds
    show("Compiled", compiled, count)
    show("Of these, by folder", [(s, name) for name, s in rooms.most_common()], count)
    if (build / "Testing/Temporary/CTestCostData.txt").exists():
        show("Tests", tests_of(build), count)


if __name__ == "__main__":
    main()
