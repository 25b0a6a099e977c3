#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills any or all processes of a real training at random instants, and compares the weights.

    tests/bench/kill_nine.py [--runs 100] [--seed 1] [--limit SECONDS]

Each run is scenarios/drill-cpu-4.yaml under the supervisor, with a checkpoint every third step, so
that many instants lie inside the writing of one. One to four members are killed with SIGKILL, once
or twice. A run counts if it ends well with the very bytes of the undisturbed run's weights.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 40


def command(folder: pathlib.Path) -> list[str]:
    settings = ["faults=[]", f"job.steps={STEPS}", "job.checkpoint_interval=3",
                f"job.checkpoint_folder={folder}/run", "campaign.repair.time={mean: 0.3 s}",
                "recovery.attempts=20"]
    words = [os.environ.get("ORRERY", str(ROOT / "orrery")), "train",
             "scenarios/drill-cpu-4.yaml", "--supervise", "--quiet", "--events", f"{folder}/events"]
    for setting in settings:
        words += ["--set", setting]
    return words


def weights(folder: pathlib.Path) -> bytes:
    last = folder / "run" / f"step-{STEPS:06}"
    return b"".join(path.read_bytes() for path in sorted(last.glob("rank-*.safetensors")))


def children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def run(folder: pathlib.Path, kills: list[tuple[float, int]], dice: random.Random) -> str:
    """Returns what is wrong, or nothing."""
    begin = time.monotonic()
    job = subprocess.Popen(command(folder), cwd=ROOT, stderr=subprocess.PIPE, text=True)
    for instant, count in kills:
        time.sleep(max(0.0, begin + instant - time.monotonic()))
        alive = children(job.pid)
        for victim in dice.sample(alive, min(count, len(alive))):
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
    try:
        _, errors = job.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()
        return "it did not end"
    return "" if job.returncode == 0 else f"exit status {job.returncode}: {errors.strip()}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which it stops")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        first = pathlib.Path(name) / "undisturbed"
        first.mkdir()
        started = time.monotonic()
        if wrong := run(first, [], dice):
            print(f"the undisturbed run: {wrong}")
            return 1
        length = time.monotonic() - started
        expected = weights(first)
        same = done = struck = restarts = 0
        while done < arguments.runs and time.monotonic() - begin < arguments.limit:
            folder = pathlib.Path(name) / f"run-{done}"
            folder.mkdir()
            kills = sorted((dice.uniform(0.1, 1.1 * length), dice.choice([1, 1, 2, 5]))
                           for _ in range(dice.choice([1, 1, 2])))
            wrong = run(folder, kills, dice)
            equal = not wrong and weights(folder) == expected
            events = [json.loads(line) for line in open(folder / "events", encoding="utf-8")]
            actions = [event["action"] for event in events if "action" in event]
            restarts += sum(action.startswith("restart") for action in actions)
            struck += any(action.startswith("restart") for action in actions)
            same += equal
            done += 1
            if not equal:
                print(f"run {done - 1} (seed {arguments.seed}), kills {kills}: "
                      f"{wrong or 'other weights'}")
        print(f"{same} of {done} runs ended with the undisturbed run's weights; "
              f"{struck} were stopped by the kills, {restarts} restarts in all")
        return 0 if same == done and done > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
