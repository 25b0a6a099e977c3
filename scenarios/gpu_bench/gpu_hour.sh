#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first hour on a GPU machine, in stages: each in processes of its own, with a time limit, so
# that what fails or hangs costs its own time only. Runs what bundle.sh has put together.
#
#   scenarios/gpu_bench/gpu_hour.sh [-o FOLDER] STAGE...      FOLDER is $OUT, or else build/gpu-hour
#
# Stages, the most valuable first (limits in seconds):
#   machine     the GPU, its driver, clocks and libraries; copy bandwidth, one large product    60
#   kernels     every family of kernels beside its CPU twin, then its rates (kernels.csv)      300
#   sanitizer   memory, races and barriers of attention and norms (compute-sanitizer)          180
#   checks      every kernel of a small step through the executor                              120
#   124m        GPT-2 124M: 10 steps, and without graphs and fused products; predictions       180
#   torch-124m  PyTorch on the same batch                                                      180
#   1558m       GPT-2 1558M, micro-batches 8 and 32                                            300
#   torch-1558m PyTorch on it, without compilation                                             180
#   sizes       GPT-2 350M and 774M                                                            300
#   torch-sizes PyTorch on them                                                                360
#   ranks       several ranks on one GPU: losses beside the CPU's; 124M on two ranks           300
#   profile     kernels and collectives of many shapes (machine.csv)                           400
#   ncu         what limits attention, a norm and a bias gradient (Nsight Compute)             120
# Groups: first = machine to torch-124m, second = 1558m to torch-sizes, third = ranks to ncu.
#
# FOLDER gets at most 8 files: report.txt (all output), stages.csv (a line for each stage and part:
# name, status, seconds), kernels.csv, steps.csv, machine.csv, profiles.tar, gemm.txt (measured
# algorithms), ncu.txt. They are there while a stage still runs. ORRERY_CUDA_WITHOUT leaves kernels
# out; where a tensor-core kernel fails alone, the stages behind it go on without that one.
set -uo pipefail # and not -e: what fails is told, and ends nothing

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
bundle=$here
[[ -x $bundle/bin/orrery ]] || bundle=$here/build/gpu
orrery=$bundle/bin/orrery
check=$bundle/bin/kernel_check
scenarios=$bundle/scenarios

all=(machine kernels sanitizer checks 124m torch-124m 1558m torch-1558m sizes torch-sizes ranks
    profile ncu)
first=("${all[@]:0:6}")
second=("${all[@]:6:4}")
third=("${all[@]:10:3}")

die() {
    printf 'gpu_hour: %s\n' "$*" >&2
    exit 2
}

out=${OUT:-build/gpu-hour}
stages=()
while (($# > 0)); do
    case $1 in
        -o)
            (($# > 1)) || die "-o needs a folder"
            out=$2
            shift
            ;;
        first) stages+=("${first[@]}") ;;
        second) stages+=("${second[@]}") ;;
        third) stages+=("${third[@]}") ;;
        *)
            [[ " ${all[*]} " == *" $1 "* ]] ||
                die "'$1' is no stage: ${all[*]}, first, second, third"
            stages+=("$1")
            ;;
    esac
    shift
done
((${#stages[@]} > 0)) || die "no stage is named: ${all[*]}, first, second, third"
[[ -x $orrery ]] || die "there is no program $orrery: scenarios/gpu_bench/bundle.sh makes it"
mkdir -p -- "$out" || die "$out can't be made"
work=$(mktemp -d) || die "no folder for temporary files"
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work/profiles"

# PyTorch's own copies of cuBLAS and NCCL, where nothing else is said. The loader's path stays as it
# is: the driver's folder may be in it.
if [[ -z ${ORRERY_CUDA_LIBRARIES:-} ]]; then
    ORRERY_CUDA_LIBRARIES=$(timeout 30 python3 -c '
import glob, site, sys
folders = site.getsitepackages() + [site.getusersitepackages()] + sys.path
print(":".join(dict.fromkeys(f for p in folders if p for f in glob.glob(p + "/nvidia/*/lib"))))
' 2>/dev/null)
    export ORRERY_CUDA_LIBRARIES
fi
export ORRERY_GEMM_ALGORITHMS=$work/gemm.txt PYTHONUNBUFFERED=1
export ORRERY_CUDA_WITHOUT=${ORRERY_CUDA_WITHOUT:-}

say() { printf '%s\n' "$*" | tee -a "$out/report.txt"; }

[[ -e $out/stages.csv ]] || echo "stage,part,status,seconds" >"$out/stages.csv"

# Copies what there is so far to where it is wanted.
collect() {
    local file
    # Tables: the columns once, the lines of all.
    find "$work" -name steps.csv -exec cat {} + 2>/dev/null |
        awk '/^scenario,/ { if (!seen++) print; next } { print }' >"$work/all-steps"
    [[ ! -s $work/all-steps ]] || cp "$work/all-steps" "$out/steps.csv"
    for file in kernels.csv machine.csv gemm.txt ncu.txt; do
        [[ ! -s $work/$file ]] || cp "$work/$file" "$out/$file"
    done
    find "$work" -mindepth 2 -name 'gpt2-*.csv' -exec sh -c '
        for f; do d=$(dirname "$f"); cp "$f" "$0/$(basename "$d")-$(basename "$f")"; done
    ' "$work/profiles" {} + 2>/dev/null
    [[ -z $(ls -A "$work/profiles") ]] || tar -cf "$out/profiles.tar" -C "$work" profiles
}

# part NAME SECONDS COMMAND...: runs it with a limit, its output into the report, and says how it
# ended. Returns its status: 124 or 137 where the limit ended it.
part() {
    local name=$1 limit=$2 status begin=$SECONDS
    shift 2
    say "--- $stage/$name: $*"
    timeout --kill-after=10 "$limit" "$@" 2>&1 </dev/null | tee -a "$out/report.txt"
    status=${PIPESTATUS[0]}
    say "=== $stage/$name: status $status, $((SECONDS - begin)) s"
    echo "$stage,$name,$status,$((SECONDS - begin))" >>"$out/stages.csv"
    collect
    return "$status"
}

# Adds a word to what is left out from now on.
leave_out() {
    [[ ",$ORRERY_CUDA_WITHOUT," == *",$1,"* ]] || ORRERY_CUDA_WITHOUT+=${ORRERY_CUDA_WITHOUT:+,}$1
    say "from here on without $ORRERY_CUDA_WITHOUT"
}

# The micro-batch sizes of a GPU with more than 100 GB, where it is one.
scenario_of() {
    local memory
    memory=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2>/dev/null |
        head -n 1)
    if [[ ${memory:-0} =~ ^[0-9]+$ && -e $scenarios/gpt2-$1-h200.yaml ]] &&
        ((memory > 100000)); then
        echo "$scenarios/gpt2-$1-h200.yaml"
    else
        echo "$scenarios/gpt2-$1-1gpu.yaml"
    fi
}

# train PART SECONDS FILE STEPS [--set ...]: in a folder of its own, since a profile is named after
# its scenario.
train() {
    local name=$1 limit=$2 file=$3 steps=$4
    shift 4
    part "$name" "$limit" "$orrery" gpu-bench "$file" --only train --steps "$steps" \
        -o "$work/$name" "$@"
}

# Beside the rates that the trainings of this call have left in steps.csv.
torch() {
    local size=$1 limit=$2 file
    shift 2
    file=$(scenario_of "$size")
    mkdir -p "$work/torch-$size"
    cp "$work/all-steps" "$work/torch-$size/steps.csv" 2>/dev/null
    part "torch-$size" "$limit" "$orrery" gpu-bench "$file" --no-profile \
        --from-stage "torch:$(basename "$file" .yaml)" -o "$work/torch-$size" "$@"
    rm -rf "$work/torch-$size"
}

stage_machine() {
    part gpu 15 nvidia-smi
    part clocks 15 nvidia-smi --format=csv \
        --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit,memory.total
    part host 15 sh -c 'uname -srm; nproc; free -g; cat /etc/os-release | head -n 2'
    part libraries 15 sh -c "echo '$ORRERY_CUDA_LIBRARIES'; ldd '$orrery'"
    part discover 30 "$orrery" discover
    part rates 60 python3 "$bundle/scenarios/gpu_bench/rates_torch.py"
}

# kernel_check runs every family of kernels in a process of its own. Which instructions attention
# may use is decided apart.
stage_kernels() {
    [[ -x $check ]] || { say "there is no $check" && return 1; }
    part checks 150 "$check" --no-times --csv "$work/checks.csv"
    add_table checks.csv
    part warps 45 "$check" --only '^attention/warps ' --no-times 1 2 || leave_out mma
    part warpgroups 45 "$check" --only '^attention/warpgroups ' --no-times 1 2 || leave_out wgmma
    part short-warpgroups 45 "$check" --only '^attention/short_warpgroups ' --no-times 1 2 ||
        leave_out wgmma
    part times 150 "$check" --times-only --csv "$work/times.csv"
    add_table times.csv
}
# A table of one process, behind those of the others.
add_table() {
    [[ -s $work/$1 ]] || return 0
    cat "$work/$1" >>"$work/kernels.csv"
    rm -f "$work/$1"
    collect
}

stage_sanitizer() {
    local tool
    for tool in memcheck racecheck synccheck; do
        part "$tool-attention" 90 compute-sanitizer --tool "$tool" "$check" --one-process \
            --only '^attention' --no-times 1 1
        part "$tool-norms" 60 compute-sanitizer --tool "$tool" "$check" --one-process \
            --only norm --no-times 1 1
    done
}

stage_checks() {
    part executor 120 "$orrery" gpu-bench --checks-only -o "$work/checks"
}

stage_124m() {
    local file
    file=$(scenario_of 124m)
    train 124m 90 "$file" 10
    ORRERY_CUDA_WITHOUT=${ORRERY_CUDA_WITHOUT:+$ORRERY_CUDA_WITHOUT,}graphs \
        train 124m-without-graphs 60 "$file" 5
    ORRERY_CUDA_WITHOUT=${ORRERY_CUDA_WITHOUT:+$ORRERY_CUDA_WITHOUT,}fused \
        train 124m-without-fused 60 "$file" 5
}

stage_torch-124m() { torch 124m 200; }

stage_1558m() {
    train 1558m-8 150 "$scenarios/gpt2-1558m-1gpu.yaml" 5 --set plan.micro_batch_size=8
    train 1558m-32 150 "$(scenario_of 1558m)" 5 --set plan.micro_batch_size=32
}

stage_torch-1558m() { torch 1558m 200 --torch-eager; }

stage_sizes() {
    train 350m 120 "$(scenario_of 350m)" 5
    train 774m 150 "$(scenario_of 774m)" 5
}

stage_torch-sizes() {
    torch 350m 200
    torch 774m 200
}

# Losses of the CPU and of the GPU, step by step.
stage_ranks() {
    local tiny=$scenarios/train-tiny-cpu-4.yaml short=(--set job.steps=20 --set job.log_interval=5
        --set job.eval_steps=0 --nproc 4)
    part tiny-cpu 90 "$orrery" train "$tiny" "${short[@]}" --device cpu
    part tiny-gpu 90 "$orrery" train "$tiny" "${short[@]}" --device cuda
    part 124m-two-ranks 120 "$orrery" train "$scenarios/gpt2-124m-1gpu.yaml" --nproc 2 \
        --device cuda --set 'cluster.node={base: h100-1gpu, gpus_per_node: 2}' \
        --set plan.global_batch_size=128 --set plan.micro_batch_size=16 \
        --set "job.dataset=$scenarios/train-tiny.txt" --set job.steps=3 \
        --set job.log_interval=1 --set job.eval_steps=0
}

stage_profile() {
    part cases 400 "$orrery" profile --device cuda -o "$work/machine.csv"
}

stage_ncu() {
    local family
    for family in attention_forward attention_backward layernorm_backward bias_gradient; do
        part "$family" 60 sh -c 'ncu --set full --clock-control none --launch-count 3 "$@"' ncu \
            --log-file "$work/ncu.part" "$check" --one-process --only "$family" --times-only
        cat "$work/ncu.part" >>"$work/ncu.txt" 2>/dev/null
        rm -f "$work/ncu.part"
    done
    collect
}

for stage in "${stages[@]}"; do
    begin=$SECONDS
    say ""
    say "##### $stage"
    "stage_$stage"
    say "##### $stage: $((SECONDS - begin)) s"
done
collect
say "files: $(ls "$out" | tr '\n' ' ')"
