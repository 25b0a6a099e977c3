#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CPU time and peak memory of campaigns of 54 days on one core, as a Markdown table.
# Goals: a thousand seeds on 16,384 GPUs in 20 s; 131,072 GPUs in 2 s and 1 GB.
set -euo pipefail
cd "$(dirname "$0")/../.."
orrery=${ORRERY:-./orrery}
echo "| GPUs | seeds | faults a run | CPU s | peak MiB |"
echo "|---:|---:|---:|---:|---:|"
for case in "2048 1000" "16384 1" "16384 100"; do
    read -r nodes seeds <<<"$case"
    result=$(mktemp)
    used=$( { /usr/bin/time -f "%U %S %M" timeout 120 "$orrery" campaign \
        scenarios/llama3-405b-54-days.yaml --set campaign.step_time="6 s" \
        --set cluster.nodes="$nodes" --set campaign.seeds="$seeds" --threads 1 --json \
        >"$result"; } 2>&1 | tail -n 1)
    python3 - "$nodes" "$seeds" "$used" "$result" <<'END'
import json, sys
nodes, seeds = int(sys.argv[1]), int(sys.argv[2])
user, system, kib = sys.argv[3].split()
faults = sum(f["mean"] for f in json.load(open(sys.argv[4]))["policies"][0]["faults"])
print(f"| {nodes * 8:,} | {seeds:,} | {faults:,.0f} | {float(user) + float(system):.2f} "
      f"| {int(kib) // 1024} |")
END
    rm -f "$result"
done
