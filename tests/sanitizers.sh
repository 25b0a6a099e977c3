#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the unit tests with sanitizers and runs them. CMake says which programs these are
# (orrery_test() in tests/CMakeLists.txt).
#
#   tests/sanitizers.sh asan [PROGRAM...]    all unit tests: addresses, leaks, undefined behaviour
#   tests/sanitizers.sh tsan [PROGRAM...]    tests in which threads meet: data races, locks in wrong
#                                            orders
#   tests/sanitizers.sh                      both
#
# Without CUDA. What was built is used again. JOBS says how many compile at once, and how many
# programs run at once (1). A program that fails does not keep the others from running. The last
# lines say which ones failed; BUILD/sanitized/PROGRAM.log has what it said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Gloo's and OpenBLAS's threads are not instrumented: what they do to each other is unknown.
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.suppressions ${TSAN_OPTIONS:-}"
export ORRERY_FUZZ_ROUNDS="${ORRERY_FUZZ_ROUNDS:-200}"
export UBSAN_OPTIONS="print_stacktrace=1 ${UBSAN_OPTIONS:-}"

# run_program FOLDER PROGRAM PATH: a line with the outcome.
run_program() {
    local log=$1/$2.log begin=$SECONDS verdict=passed
    if [[ ! -x $3 ]]; then
        verdict='NOT BUILT'
    elif ! timeout 3600 "$3" --gtest_brief=1 >"$log" 2>&1 </dev/null; then
        verdict="FAILED ($log)"
    fi
    echo "$2: $verdict, $((SECONDS - begin)) s"
}
export -f run_program

failed=0
# run_kind KIND LIST [PROGRAM...]
run_kind() {
    local kind=$1 list=build/$1/$2_programs.txt folder=build/$1/sanitized begin=$SECONDS
    shift 2
    cmake --preset "$kind" -DORRERY_CUDA=OFF -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" >/dev/null
    mkdir -p "$folder"
    local name path targets=() chosen=()
    while read -r name path; do
        if (($# == 0)) || [[ " $* " == *" $name "* ]]; then
            targets+=("$name")
            chosen+=("$name" "$path")
            rm -f "$path" "$folder/$name.log"
        fi
    done <"$list"
    for name; do
        [[ " ${targets[*]} " == *" $name "* ]] || { echo "$list has no $name" >&2 && exit 2; }
    done
    cmake --build "build/$kind" -j "${JOBS:-1}" --target "${targets[@]}" -- -k 0 || true
    printf '%s\n' "${chosen[@]}" |
        xargs -n 2 -P "${JOBS:-1}" bash -c 'run_program "$@"' _ "$folder" | tee "$folder/outcome"
    local bad
    bad=$(grep -vc ': passed, ' "$folder/outcome" || true)
    echo "$kind: $((${#targets[@]} - bad)) of ${#targets[@]} programs passed," \
        "$(((SECONDS - begin + 30) / 60)) min"
    ((bad == 0)) || failed=1
}

case ${1:-} in
'')
    run_kind asan unit
    run_kind tsan threaded
    ;;
asan) run_kind asan unit "${@:2}" ;;
tsan) run_kind tsan threaded "${@:2}" ;;
*) sed -n '3,14s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
exit "$failed"
