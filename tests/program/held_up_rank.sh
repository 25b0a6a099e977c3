#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trains with four processes, one of which gets only a part of its core's time: it is stopped for
# 40 ms of every 50, as by a scheduler that gives the core to somebody else. Every op is recorded.
#   tests/program/held_up_rank.sh RANK FOLDER        the record is FOLDER/run
# ORRERY is the program (./orrery by default).
set -euo pipefail
held=$1
folder=$2
program=${ORRERY:-./orrery}
mkdir -p "$folder/meeting"
pids=()
for rank in 0 1 2 3; do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 ORRERY_STORE="$folder/meeting" OMP_NUM_THREADS=1 \
        timeout 100 "$program" train scenarios/drill-cpu-4.yaml \
        --set job.steps=8 --set job.drill=false --set "faults=[]" \
        --set model.hidden_size=256 --set model.seq_length=128 --quiet \
        --set job.checkpoint_folder="$folder/checkpoints" --record "$folder/run" &
    pids+=($!)
done
until pid=$(pgrep -P "${pids[$held]}"); do  # timeout's child
    kill -0 "${pids[$held]}"
    sleep 0.01
done
while kill -STOP "$pid" 2>/dev/null; do
    sleep 0.04
    kill -CONT "$pid" 2>/dev/null || break
    sleep 0.01
done
for one in "${pids[@]}"; do
    wait "$one"
done
