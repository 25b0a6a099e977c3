#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fire drills of scenarios/drill-cpu-4.yaml, measured and predicted, as a Markdown table.

    tests/bench/drills.py [RUNS]

Each kind of recovery RUNS times (default 3): the steps must be those predicted in each of them; of
the times the median stands in the table.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRASH = '{step: 17, at: "node:2", kind: node_crash}'
DRILLS = [
    ("a node is lost and repaired in 1 s", CRASH, "[]"),
    ("… and a hot spare takes its place", CRASH, "[{spares: {count: 1}}]"),
    ("… with copies in peers' memories", CRASH, "[{spares: {count: 1}}, peer_checkpoint]"),
    ("a bug, restarted in place", "{step: 17, kind: software_bug}", "[in_place]"),
    ("a hang, and a hot spare", '{step: 17, at: "node:2", kind: gpu_hang}',
     "[{spares: {count: 1}}]"),
    ("a replica less, and back after 1 s", CRASH, "[elastic]"),
]
ROW = re.compile(r"(measured|predicted) +after step (\d+), resumed from (\d+), (\d+) lost: "
                 r"(?:seen after ([\d.]+) s, )?training ([\d.]+) s later")


def stops(faults: str, policies: str) -> dict:
    """Of each stop: steps, and the times of both sides."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [os.environ.get("ORRERY", str(ROOT / "orrery")), "train", "scenarios/drill-cpu-4.yaml",
             "--supervise", "--set", f"faults=[{faults}]", "--set", f"recovery.policies={policies}",
             "--set", "job.steps=120", "--set", f"job.checkpoint_folder={folder}/run",
             "--set", f"job.dataset={ROOT}/LICENSE"],
            cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    found = {}
    stop = 0
    for line in done.stdout.splitlines():
        if re.match(r"\d+\. ", line):
            stop = int(line.split(".")[0])
        if match := ROW.search(line):
            side, _, resumed, lost, seen, later = match.groups()
            found.setdefault(stop, {})[side] = (int(resumed), int(lost), seen and float(seen),
                                                float(later))
    return found


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    wrong = 0
    print("| drill | steps lost, and predicted | seen after, s | predicted | training again, s "
          "| predicted |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, faults, policies in DRILLS:
        all_runs = [stops(faults, policies) for _ in range(runs)]
        for stop in sorted(all_runs[0]):
            both = [run[stop] for run in all_runs if len(run.get(stop, {})) == 2]
            lost = [(one["measured"][1], one["predicted"][1]) for one in both]
            wrong += sum(a != b for a, b in lost) + runs - len(both)
            if not both:
                continue  # not foreseen: a machine that others keep busy
            seen = [[one[side][2] for one in both] for side in ("measured", "predicted")]
            later = [statistics.median(one[side][3] for one in both)
                     for side in ("measured", "predicted")]
            times = [f"{statistics.median(s):.2f}" if None not in s else "" for s in seen]
            title = name if stop == 1 else "the replica comes back"
            print(f"| {title} | {lost[0][0]}, {lost[0][1]} | {times[0]} | {times[1]} "
                  f"| {later[0]:.3f} | {later[1]:.3f} |", flush=True)
    if wrong:
        print(f"{wrong} stops were not as predicted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
