#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints, as a Markdown table, what simulating each scenario file costs: tests/bench/scenarios.sh
# [FILE ...] from the top of a checkout that has been built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

(($# > 0)) || set -- scenarios/*.yaml
printf '| scenario | GPUs | step s | MFU | ops | flows | wall s | peak MiB |\n'
printf '|---|---:|---:|---:|---:|---:|---:|---:|\n'
for file; do
    [[ $file != */network-* ]] || continue  # no training step
    # Weeks of steps, a study, several jobs, served loads (serving.sh)
    ! grep -Eq "^(campaign|scenario|jobs|serving):" "$file" || continue
    ./orrery simulate "$file" --json | python3 -c '
import json, sys
a = json.load(sys.stdin)
flows = a["flows"] if "flows" in a else a["folding"]["flows"]
print("| {} | {:,} | {:.3f} | {:.1%} | {:,} | {:,} | {:.2f} | {:.0f} |".format(
    sys.argv[1], a["ranks"], a["iteration_s"], a["mfu"], a["simulated_ops"], flows,
    a["wall_s"], a["peak_rss_bytes"] / 2**20))' "$(basename "$file" .yaml)"
done
