#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints, as a Markdown table, what simulating served loads costs: tests/bench/serving.sh [FILE ...]
# from the top of a checkout that has been built. Wall time is of the simulation alone, on one core.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

one_instance=(scenarios/serving/llama3-70b.yaml
    --set cluster.nodes=1 --set serving.pools.instances=1 --set workload.request_rate=6)
row() {
    ./orrery serve "${@:2}" --json | python3 -c '
import json, sys
a = json.load(sys.stdin)
steps = sum(pool["steps"] for pool in a["pools"])
print("| {} | {:,} | {:,} | {:,.0f} | {:.2f} | {:,.0f} |".format(
    sys.argv[1], a["requests"], steps, a["makespan_s"], a["wall_s"],
    a["requests"] / a["wall_s"]))' "$1"
}
printf '| load | requests | steps | simulated s | wall s | requests a second |\n'
printf '|---|---:|---:|---:|---:|---:|\n'
if (($# > 0)); then
    for file; do
        row "$(basename "$file" .yaml)" "$file"
    done
    exit
fi
row 'one instance of Llama 3 70B' "${one_instance[@]}"
for file in scenarios/serve-*.yaml scenarios/serving/*.yaml; do
    row "$(basename "$file" .yaml)" "$file"
done
