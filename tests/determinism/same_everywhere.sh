#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the program with every compiler that is here, optimised and not, and compares what each
# says of some scenarios, with one thread and with two: tests/determinism/same_everywhere.sh
# [FOLDER], whose builds are used again. Only what a run cost may differ. Takes as long as four
# builds; COMPILERS and LEVELS choose others, JOBS how many compile at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:-build/same_everywhere}
read -ra compilers <<<"${COMPILERS:-g++ clang++}"
read -ra levels <<<"${LEVELS:--O2 -O0}"
scenarios=(laptop-2gpu llama3-8b-h100 llama3-70b-h100 gpt3-175b-1024-a100 megascale-175b-256)

first=
for compiler in "${compilers[@]}"; do
    if ! command -v "$compiler" >/dev/null; then
        echo "$compiler is not here: left out" >&2
        continue
    fi
    for level in "${levels[@]}"; do
        build=$folder/$compiler$level
        cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DORRERY_TESTS=OFF \
            -DORRERY_CUDA=OFF -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="$level" >/dev/null
        cmake --build "$build" ${JOBS:+-j "$JOBS"} --target orrery >"$build/build.log" || {
            tail -n 20 "$build/build.log"
            exit 1
        }
        for threads in 1 2; do
            for scenario in "${scenarios[@]}"; do
                OMP_NUM_THREADS=$threads "$build/bin/orrery" simulate "scenarios/$scenario.yaml" \
                    --json | sed -E '/"build": \{/,/\}/d; s/"(wall_s|peak_rss_bytes)": [^,]*//' \
                    >"$folder/$scenario.$compiler$level.$threads.json"
                : "${first:=$compiler$level.1}"
                cmp "$folder/$scenario.$first.json" \
                    "$folder/$scenario.$compiler$level.$threads.json"
            done
            echo "$compiler $level, $threads thread(s): the same"
        done
    done
done
[[ -n $first ]] || {
    echo "none of these compilers is here: ${compilers[*]}" >&2
    exit 1
}
