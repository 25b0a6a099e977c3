#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Predicted against measured step times on this machine's CPU, for shapes that were not profiled.
# Profile and runs alternate: every round profiles anew, then runs every scenario once. Prints a
# table (Markdown) of medians over the rounds with their spreads, the load of the machine, and
# whether that was quiet. No test: it takes minutes, but no more than LIMIT_S; what does not fit
# into that is left out (of a round that did not end, the scenarios that did count).
#
#   [LIMIT_S=600] tests/bench/cpu_accuracy.sh [ROUNDS [FOLDER]]    3 rounds if not given
#
# "measured" is the step without what other processes took from it
# (runtime/measure/step_replay.h), "wall" the step as it went. A spread is half the range over the
# rounds; "steps" is that of the steps within a run. "kernels" is the error of the kernels alone.
# "machine" is how much processor time a fixed piece of work took just before the runs, against the
# least of the table: a virtual machine's processors may be slower for a while (1.2 and more), and
# a profile of another moment is then one of another machine.
set -euo pipefail

rounds=${1:-3}
limit_s=${LIMIT_S:-600}
load_before=$(cut -d' ' -f1 /proc/loadavg)
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
orrery=${ORRERY:-$root/orrery}
folder=${2:-$(mktemp -d)}
mkdir -p "$folder"

# name | model | plan | ranks, on top of scenarios/train-tiny-cpu.yaml; none of these shapes is in
# scenarios/studies/measure/profile_cases.cpp.
gpt192="num_layers=3 hidden_size=192 num_attention_heads=6 seq_length=96 vocab_size=384"
llama384="num_layers=2 hidden_size=384 num_attention_heads=6 num_query_groups=2 \
    ffn_hidden_size=1024 seq_length=80 vocab_size=320 normalization=rmsnorm \
    position_embedding_type=rope activation=swiglu add_bias_linear=false \
    untie_embeddings_and_output_weights=true"
gpt320="num_layers=2 hidden_size=320 num_attention_heads=5 seq_length=64 vocab_size=300"
gpt96="num_layers=4 hidden_size=96 num_attention_heads=3 seq_length=192 vocab_size=256"
zero3=data_parallel_sharding_strategy=optim_grads_params
tensor="tensor_model_parallel_size=2 sequence_parallel=true"
scenarios=(
    "gpt-192|$gpt192|micro_batch_size=3 global_batch_size=6|1"
    "llama-384|$llama384|micro_batch_size=2 global_batch_size=4|1"
    "gpt-320-bf16|$gpt320|micro_batch_size=3 global_batch_size=6 precision=bf16|1"
    "gpt-96-long|$gpt96|micro_batch_size=1 global_batch_size=2|1"
    "gpt-192-dp2|$gpt192|micro_batch_size=3 global_batch_size=12|2"
    "llama-384-tp2|$llama384|$tensor micro_batch_size=2 global_batch_size=4|2"
    "gpt-192-pp2|${gpt192/layers=3/layers=4}|\
pipeline_model_parallel_size=2 micro_batch_size=2 global_batch_size=8|2"
    "gpt-320-zero3|$gpt320|$zero3 micro_batch_size=3 global_batch_size=12|2"
)

left() { echo $((limit_s - SECONDS)); }
# Ends a command with the limit; fails at once where nothing is left.
within_limit() { (($(left) > 5)) && timeout --kill-after=5 "$(left)" "$@"; }

# Processor time of a fixed piece of work, done by a number of processes at once.
probe() {
    python3 - "$1" <<'PYTHON'
import os
import statistics
import sys
import time


def seconds():
    begin = time.process_time()
    total = 0
    for i in range(300_000):
        total += i & 3
    return time.process_time() - begin


ends = []
for _ in range(int(sys.argv[1])):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, f"{statistics.median(seconds() for _ in range(15))}".encode())
        os._exit(0)
    os.close(write)
    ends.append(read)
print(max(float(os.read(end, 64)) for end in ends))
PYTHON
}

run() { # name, model, plan, ranks, round
    local settings=() key
    for key in $2; do settings+=(--set "model.$key"); done
    for key in $3; do settings+=(--set "plan.$key"); done
    probe "$4" >"$folder/$1-$5.probe"
    within_limit "$orrery" train "$root/scenarios/train-tiny-cpu.yaml" --nproc "$4" --quiet \
        --record "$folder/$1-$5" --set "cluster.node={base: cpu-core, gpus_per_node: $4}" \
        --set job.steps=25 --set job.eval_steps=0 --set job.learning_rate=1e-4 \
        --set job.min_learning_rate=0 "${settings[@]}" || return 1
    within_limit "$orrery" compare "$folder/$1-$5" --profile "$folder/profile-$5.csv" --json \
        >"$folder/$1-$5.part" && mv "$folder/$1-$5.part" "$folder/$1-$5.json"
}

for ((round = 1; round <= rounds; ++round)); do
    within_limit "$orrery" profile --nproc 2 -o "$folder/profile-$round.csv" >&2 || break
    for scenario in "${scenarios[@]}"; do
        IFS='|' read -r name model plan ranks <<<"$scenario"
        run "$name" "$model" "$plan" "$ranks" "$round" || break 2
    done
done

python3 - "$folder" "$load_before" "$SECONDS" "${scenarios[@]%%|*}" <<'PYTHON'
import glob
import json
import os
import statistics
import sys

folder, load_before, seconds, names = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4:]
load_after = os.getloadavg()[0]


def middle(values):
    return statistics.median(values)


def spread(values):
    return 100 * (max(values) - min(values)) / (2 * middle(values))


def kernels_error(run):
    parts = [part for part in run["parts"] if part["kind"] == "kernel"]
    return sum(p["predicted_s"] for p in parts) / sum(p["measured_s"] for p in parts) - 1


def probes(name):
    return [float(open(f).read()) for f in glob.glob(f"{folder}/{name}-[0-9]*.probe")]


fastest = min((p for name in names for p in probes(name)), default=1)


def machine(name):
    slower = [p / fastest for p in probes(name)]
    return f"{min(slower):.2f}-{max(slower):.2f}" if slower else ""


print(
    "| scenario | ranks | measured ms | rounds | steps | predicted ms | rounds | error "
    "| kernels | wall ms | machine |"
)
print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
errors = {}
for name in names:
    runs = [json.load(open(f)) for f in sorted(glob.glob(f"{folder}/{name}-[0-9]*.json"))]
    if not runs:
        print(f"| {name} | - | did not fit into the time | | | | | | | | |")
        continue
    measured = [r["undisturbed_s"] for r in runs]
    predicted = [r["predicted_s"] for r in runs]
    wall = [r["measured_median_s"] for r in runs]
    error = 100 * (middle(predicted) / middle(measured) - 1)
    errors.setdefault(runs[0]["ranks"], []).append(abs(error))
    print(
        f"| {name} | {runs[0]['ranks']} | {1e3 * middle(measured):.1f} | ±{spread(measured):.0f}% "
        f"| ±{100 * middle([r['undisturbed_spread'] for r in runs]):.0f}% "
        f"| {1e3 * middle(predicted):.1f} | ±{spread(predicted):.0f}% | {error:+.1f}% "
        f"| {100 * middle([kernels_error(r) for r in runs]):+.1f}% "
        f"| {1e3 * middle(wall):.1f} | {machine(name)} |"
    )
print(f"\n{seconds} s; load {load_before:.1f} before and {load_after:.1f} after.")
# Two ranks alone are a load of two.
if max(load_before, load_after) > 2.5:
    print("The machine was not quiet: these are no figures of what it does by itself.")
if not errors:
    sys.exit("no scenario was profiled and run within the time: LIMIT_S=1200 doubles it")
for ranks, values in sorted(errors.items()):
    print(f"Median absolute error of the step on {ranks} rank(s): {middle(values):.1f} %")
PYTHON
