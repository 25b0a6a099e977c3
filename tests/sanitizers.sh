#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the engine, the runtime and their tests with sanitizers and runs those tests:
#
#   tests/sanitizers.sh asan    addresses, leaks and undefined behaviour
#   tests/sanitizers.sh tsan    threads: data races and locks in wrong orders
#   tests/sanitizers.sh         one after the other
#
# Without CUDA. What was built is used again. JOBS says how many compile and run at once (1).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${JOBS:-1}
kinds=("$@")
((${#kinds[@]} > 0)) || kinds=(asan tsan)

# Gloo's and OpenBLAS's threads are not instrumented: what they do to each other is unknown.
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.suppressions ${TSAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"
for kind in "${kinds[@]}"; do
    cmake --preset "$kind" -DORRERY_CUDA=OFF >/dev/null
    cmake --build "build/$kind" -j "$jobs" --target tests/engine/all tests/runtime/all
    for folder in engine runtime; do
        ctest --test-dir "build/$kind/tests/$folder" -j "$jobs" --output-on-failure --timeout 600
    done
done
