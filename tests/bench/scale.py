#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how the cost of simulating grows, as Markdown tables: tests/bench/scale.py [curve |
large | counterparts], from a checkout that has been built. CPU seconds, one thread.

curve         MegaScale's plan on 8 to 131,072 ranks, 32 micro-batches a pipeline, once with packets
              sprayed over all paths (ranks fold) and once with every connection on its ECMP path
large         the table of large steps in docs/explanation/performance.md
counterparts  what other simulators' authors have published times for
"""
import json
import os
import resource
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MEGASCALE = os.path.join(ROOT, "scenarios/megascale-175b-12288.yaml")
DEEPSEEK = os.path.join(ROOT, "scenarios/deepseek-v3-12288.yaml")
SPRAY = ["cluster.fabric.base=megascale-clos", "cluster.fabric.routing=spray"]


def run(command, file, settings, *more):
    """The answer, CPU seconds and peak MiB of one run of orrery."""
    words = [os.path.join(ROOT, "orrery"), command, file, *more, "--json"]
    for setting in settings:
        words += ["--set", setting]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer = json.loads(done.stdout)
    return answer, cpu, answer.get("peak_rss_bytes", 0) / 2**20


def megascale(nodes):
    """Settings of MegaScale's plan on `nodes` servers of eight GPUs."""
    stages = min(8, nodes)
    settings = [f"cluster.nodes={nodes}", f"plan.global_batch_size={32 * nodes // stages}",
                f"plan.pipeline_model_parallel_size={stages}"]
    if stages == 1:
        settings += ["plan.virtual_pipeline_model_parallel_size=1", "plan.schedule=1f1b",
                     "plan.overlap_p2p=false"]
    if nodes == stages:
        settings += ["plan.data_parallel_sharding_strategy=no_shard",
                     "plan.overlap_grad_reduce=false", "plan.overlap_param_gather=false"]
    return settings


def curve():
    print("| ranks | ops of all ranks | sprayed: CPU s | MiB | ECMP: flows | CPU s | MiB |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for power in range(15):
        nodes = 2**power
        a, cpu, mib = run("simulate", MEGASCALE, megascale(nodes) + SPRAY)
        row = f"| {8 * nodes:,} | {a['simulated_ops']:,} | {cpu:.2f} | {mib:.0f} |"
        if nodes <= 2048:
            a, cpu, mib = run("simulate", MEGASCALE, megascale(nodes))
            row += f" {a['flows']:,} | {cpu:.2f} | {mib:.0f} |"
        else:
            row += " | | |"
        print(row, flush=True)


def large():
    llama = os.path.join(ROOT, "scenarios/llama3-405b-54-days.yaml")
    factors = [1.00001 + n * 7919 % 1536 / 76800 for n in range(1536)]
    slow = ", ".join(f'{{kind: slow_host, at: "node:{n}", factor: {factor:.6f}}}'
                     for n, factor in enumerate(factors))
    rows = [("MegaScale 12,288, a path a connection", MEGASCALE, []),
            ("MegaScale 12,288, sprayed", MEGASCALE, SPRAY),
            ("MegaScale's plan on 98,304, sprayed", MEGASCALE, SPRAY + megascale(12288)),
            ("Llama 3 405B on 16,384, a path a connection", llama, ["faults=[]"]),
            ("MegaScale 12,288, every server its own speed", MEGASCALE, [f"faults=[{slow}]"]),
            ("DeepSeek-V3 on 12,288, every rank its own rows", DEEPSEEK, []),
            ("DeepSeek-V3 on 98,304, every rank its own rows", DEEPSEEK,
             ["cluster.nodes=12288", "plan.global_batch_size=49152",
              # Core switches of 192 ports, which InfiniBand does not have.
              "cluster.fabric.base=ndr400-rail", "cluster.fabric.switch_radix=0"])]
    print("| step | flows | CPU s | MiB |")
    print("|---|---:|---:|---:|")
    for name, file, settings in rows:
        a, cpu, mib = run("simulate", file, settings)
        print(f"| {name} | {a['flows']:,} | {cpu:.2f} | {mib:.0f} |", flush=True)


def counterparts():
    gpt = os.path.join(ROOT, "scenarios/gpt3-175b-1024-a100.yaml")
    ecmp = "cluster.fabric=eth200-clos"
    print("| case | ASTRA-sim, s | Orrery, CPU s |")
    print("|---|---:|---:|")
    for ranks, theirs in ((1024, 8.4), (4096, 235)):
        _, cpu, _ = run("network", gpt, [f"cluster.nodes={ranks // 8}", ecmp],
                        "--pattern", "all_reduce", "--size", "1GiB")
        print(f"| all-reduce of 1 GiB, {ranks:,} ranks | {theirs} | {cpu:.2f} |", flush=True)
    _, cpu, _ = run("simulate", gpt,
                    ["cluster.nodes=64", ecmp, "plan.global_batch_size=64", "plan.schedule=1f1b",
                     "plan.virtual_pipeline_model_parallel_size=1"])
    print(f"| GPT-3 175B, 8 micro-batches, 512 ranks | 33 | {cpu:.2f} |")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["curve", "large", "counterparts"]
    for i, name in enumerate(wanted):
        if i:
            print()
        {"curve": curve, "large": large, "counterparts": counterparts}[name]()
