#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds test programs with sanitizers and runs them: those below, no others.
#
#   tests/sanitizers.sh asan [PROGRAM...]    addresses, leaks and undefined behaviour
#   tests/sanitizers.sh tsan [PROGRAM...]    threads: data races and locks in wrong orders
#   tests/sanitizers.sh                      one after the other
#
# Without CUDA. What was built is used again. JOBS says how many compile at once (1). A program that
# fails does not keep the others from running; the last lines say which passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Kernels, communicators, the supervisor, training with ranks as threads, checkpoints and other
# files, and the readers on what fuzzing has found.
asan=(kernels/kernels_cpu_test runtime/communication/communication_test
      runtime/supervisor/supervisor_test runtime/runtime_files_test runtime/runtime_test
      fuzz/reader_corpus_test)
# Those in which threads meet.
tsan=(engine/engine_executor_test runtime/communication/communication_test
      runtime/supervisor/supervisor_test runtime/runtime_test)

# Gloo's and OpenBLAS's threads are not instrumented: what they do to each other is unknown.
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.suppressions ${TSAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"

failed=0
run_kind() {
    local kind=$1
    local -n programs=$kind
    shift
    cmake --preset "$kind" -DORRERY_CUDA=OFF -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" >/dev/null
    local program passed=() others=()
    for program in "${programs[@]}"; do
        (($# == 0)) || [[ " $* " == *" ${program##*/} "* ]] || continue
        if cmake --build "build/$kind" -j "${JOBS:-1}" --target "${program##*/}" &&
            timeout 3600 "build/$kind/tests/$program" --gtest_brief=1; then
            passed+=("${program##*/}")
        else
            others+=("${program##*/}")
        fi
    done
    echo "$kind passed: ${passed[*]:-none}; failed: ${others[*]:-none}"
    ((${#passed[@]} > 0 && ${#others[@]} == 0)) || failed=1
}

if (($# == 0)); then
    run_kind asan
    run_kind tsan
else
    [[ $1 == asan || $1 == tsan ]] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
    run_kind "$@"
fi
exit "$failed"
