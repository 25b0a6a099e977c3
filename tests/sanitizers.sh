#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds test programs with sanitizers and runs them: those below, no others.
#
#   tests/sanitizers.sh asan [PROGRAM...]    addresses, leaks and undefined behaviour
#   tests/sanitizers.sh tsan [PROGRAM...]    threads: data races and locks in wrong orders
#   tests/sanitizers.sh                      one after the other
#   tests/sanitizers.sh quick                both, with few programs: what ./orrery sanitize runs
#
# Without CUDA. What was built is used again. JOBS says how many compile at once (1). A program that
# fails does not keep the others from running; the last lines say which passed and how long it took.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Kernels, communicators, the supervisor, training with ranks as threads, checkpoints and other
# files, and the readers on what fuzzing has found.
asan=(kernels/kernels_cpu_test runtime/communication/communication_test
      runtime/supervisor/supervisor_test runtime/runtime_files_test runtime/runtime_test
      fuzz/fuzz_corpus_test)
# Those in which threads meet.
tsan=(engine/engine_executor_test runtime/communication/communication_test
      runtime/supervisor/supervisor_test runtime/runtime_serve_test runtime/runtime_test)

# The readers on their fuzz corpora, files of trainings, and processes that talk to each other: code
# that meets foreign bytes. Kernels and training cost most of the time to compile and to run.
quick_asan=(fuzz/fuzz_corpus_test runtime/runtime_files_test
            runtime/communication/communication_test runtime/supervisor/supervisor_test)
quick_tsan=(runtime/communication/communication_test runtime/supervisor/supervisor_test)

# Gloo's and OpenBLAS's threads are not instrumented: what they do to each other is unknown.
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.suppressions ${TSAN_OPTIONS:-}"
export ORRERY_FUZZ_ROUNDS="${ORRERY_FUZZ_ROUNDS:-200}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"

failed=0
run_kind() {
    local list=$1 kind=${1#quick_} begin=$SECONDS
    local -n programs=$list
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
    echo "$kind passed: ${passed[*]:-none}; failed: ${others[*]:-none};" \
        "$(((SECONDS - begin + 30) / 60)) min"
    ((${#passed[@]} > 0 && ${#others[@]} == 0)) || failed=1
}

if (($# == 0)); then
    run_kind asan
    run_kind tsan
elif [[ $# == 1 && $1 == quick ]]; then
    run_kind quick_asan
    run_kind quick_tsan
else
    [[ $1 == asan || $1 == tsan ]] || { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
    run_kind "$@"
fi
exit "$failed"
