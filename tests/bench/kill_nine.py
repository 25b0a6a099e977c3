#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills any or all processes of a real training at random instants, and compares the weights.

    tests/bench/kill_nine.py [--runs 100] [--seed 1] [--limit SECONDS]

Each run is scenarios/drill-cpu-4.yaml with a checkpoint every third step. In turn it runs under the
supervisor, which has to go on by itself, and plainly (--nproc 4), where it is started
again with --resume; there the process that started the ranks may die too. One to all processes die
of SIGKILL, once or twice, at instants uniform over the shortest of three undisturbed runs; in every
third run not before a checkpoint is half written. A run counts if it ends well with the very bytes
of the undisturbed run's weights.
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
STEPS = 60
RANKS = 4


def command(folder: pathlib.Path, supervised: bool, resume: bool) -> list[str]:
    settings = ["faults=[]", f"job.steps={STEPS}", "job.checkpoint_interval=3",
                f"job.checkpoint_folder={folder}/run", f"job.dataset={ROOT}/LICENSE",
                "campaign.repair.time={mean: 0.3 s}",
                "recovery.attempts=20", "job.distributed_timeout=20 s"]
    words = [os.environ.get("ORRERY", str(ROOT / "orrery")), "train",
             "scenarios/drill-cpu-4.yaml", "--quiet"]
    words += (["--supervise", "--events", f"{folder}/events"] if supervised
              else ["--nproc", str(RANKS)])
    words += ["--resume"] if resume else ["--overwrite"]
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


def half_written(folder: pathlib.Path) -> bool:
    return any((folder / "run").glob("step-*.tmp"))


class Strikes:
    """What the kills of all runs hit."""

    def __init__(self):
        self.kills = self.in_write = self.interrupted = 0

    def kill(self, folder: pathlib.Path, victims: list[int]):
        self.kills += 1
        self.in_write += half_written(folder)
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass


def run_to_end(folder, supervised, resume, kills, writing, dice, strikes) -> tuple[int, str]:
    """Runs the job, kills some of it; exit status and error output."""
    begin = time.monotonic()
    job = subprocess.Popen(command(folder, supervised, resume), cwd=ROOT,
                           stderr=subprocess.PIPE, text=True)
    for instant, count in kills:
        time.sleep(max(0.0, begin + instant - time.monotonic()))
        until = time.monotonic() + 2
        while ((writing and not half_written(folder)) or not children(job.pid)) and \
                job.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        alive = children(job.pid)[:RANKS]  # of a supervised job the spares come last
        if not supervised:
            alive.append(job.pid)
        if job.poll() is None and alive:
            strikes.kill(folder, dice.sample(alive, min(count, len(alive))))
    try:
        _, errors = job.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()
        return -1, "it did not end"
    return job.returncode, errors.strip()


def trial(folder, supervised, kills, writing, dice, strikes) -> str:
    """Returns what is wrong, or nothing."""
    if supervised:
        status, errors = run_to_end(folder, True, False, kills, writing, dice, strikes)
        if kills:
            events = [json.loads(line) for line in open(folder / "events", encoding="utf-8")]
            strikes.interrupted += any("action" in event or "lost" in event.get("event", "")
                                       for event in events)
        return f"exit status {status}: {errors}" if status != 0 else ""
    resume = False
    for at, _ in enumerate(kills):
        status, errors = run_to_end(folder, False, resume, kills[at:at + 1], writing, dice, strikes)
        strikes.interrupted += status != 0 and at == 0
        if status == 0:
            return ""
        resume = (folder / "run" / "latest").exists()
    status, errors = run_to_end(folder, False, resume, [], False, dice, strikes)
    return "" if status == 0 else f"exit status {status}: {errors}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which it stops")
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    begin = time.monotonic()
    strikes = Strikes()
    with tempfile.TemporaryDirectory() as name:
        length = {}
        for supervised in (True, False):
            spans = []
            for repeat in range(3):
                first = pathlib.Path(name) / f"undisturbed-{supervised}-{repeat}"
                first.mkdir()
                started = time.monotonic()
                if wrong := trial(first, supervised, [], False, dice, strikes):
                    print(f"the undisturbed run: {wrong}")
                    return 1
                spans.append(time.monotonic() - started)
            length[supervised] = min(spans)
        expected = weights(first)
        same = done = 0
        while done < arguments.runs and time.monotonic() - begin < arguments.limit:
            folder = pathlib.Path(name) / f"run-{done}"
            folder.mkdir()
            supervised = done % 2 == 0
            latest = 0.85 * length[supervised]
            kills = sorted((dice.uniform(0.05, latest), dice.choice([1, 1, 2, 5]))
                           for _ in range(dice.choice([1, 1, 2])))
            wrong = trial(folder, supervised, kills, done % 3 == 2, dice, strikes)
            equal = not wrong and weights(folder) == expected
            same += equal
            if not equal:
                print(f"run {done} (seed {arguments.seed}), kills {kills}: "
                      f"{wrong or 'other weights'}")
            done += 1
        print(f"{same} of {done} runs ended with the undisturbed run's weights; "
              f"{strikes.interrupted} were stopped by the kills ({strikes.kills} in all, "
              f"{strikes.in_write} of them while a checkpoint was being written)")
        return 0 if same == done and done > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
