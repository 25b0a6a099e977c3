#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Predicted against measured step times on this machine's CPU, for shapes that were not profiled.
# Profile and runs alternate: every round profiles anew, then runs every scenario once. Prints a
# table (Markdown) of medians over the rounds with their spreads. No test: it takes minutes.
#
#   tests/bench/cpu_accuracy.sh [ROUNDS [FOLDER]]    3 rounds if not given
#
# "measured" is the step without what other processes took from it (runtime/step_replay.h); on a
# machine of its own that is the step as it went, "wall".
set -euo pipefail

rounds=${1:-3}
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
orrery=${ORRERY:-$root/orrery}
folder=${2:-$(mktemp -d)}
mkdir -p "$folder"

# name | model | plan | ranks, on top of scenarios/train-tiny-cpu.yaml; none of these shapes is in
# scenarios/profile_cases.cpp.
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

run() { # name, model, plan, ranks, round
    local settings=() key
    for key in $2; do settings+=(--set "model.$key"); done
    for key in $3; do settings+=(--set "plan.$key"); done
    "$orrery" train "$root/scenarios/train-tiny-cpu.yaml" --nproc "$4" --quiet \
        --record "$folder/$1-$5" --set "cluster.node={base: cpu-core, gpus_per_node: $4}" \
        --set job.steps=25 --set job.eval_steps=0 --set job.learning_rate=1e-4 \
        --set job.min_learning_rate=0 "${settings[@]}"
    "$orrery" compare "$folder/$1-$5" --profile "$folder/profile-$5.csv" --json \
        >"$folder/$1-$5.json"
}

for ((round = 1; round <= rounds; ++round)); do
    "$orrery" profile --ranks 2 -o "$folder/profile-$round.csv" >&2
    for scenario in "${scenarios[@]}"; do
        IFS='|' read -r name model plan ranks <<<"$scenario"
        run "$name" "$model" "$plan" "$ranks" "$round"
    done
done

python3 - "$folder" "$rounds" "${scenarios[@]%%|*}" <<'PYTHON'
import json
import statistics
import sys

folder, rounds, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def middle(values):
    return statistics.median(values)


def spread(values):
    return 100 * (max(values) - min(values)) / (2 * middle(values))


print("| scenario | ranks | measured ms | ± | predicted ms | ± | error | wall ms | undisturbed |")
print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
errors = {}
for name in names:
    runs = [json.load(open(f"{folder}/{name}-{i + 1}.json")) for i in range(rounds)]
    measured = [r["undisturbed_s"] for r in runs]
    predicted = [r["predicted_s"] for r in runs]
    wall = [r["measured_median_s"] for r in runs]
    quiet = sum(r["steps_undisturbed"] for r in runs) / sum(r["steps"] for r in runs)
    error = 100 * (middle(predicted) / middle(measured) - 1)
    errors.setdefault(runs[0]["ranks"], []).append(abs(error))
    print(
        f"| {name} | {runs[0]['ranks']} | {1e3 * middle(measured):.1f} | {spread(measured):.0f}% "
        f"| {1e3 * middle(predicted):.1f} | {spread(predicted):.0f}% | {error:+.1f}% "
        f"| {1e3 * middle(wall):.1f} | {100 * quiet:.0f}% |"
    )
print()
for ranks, values in sorted(errors.items()):
    print(f"Median absolute error of the step on {ranks} rank(s): {middle(values):.1f} %")
PYTHON
