#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command beside a Slurm of its own, of one node, this machine: controller, node and keys in
# a new folder, on ports of their own, gone afterwards. Status 77: this machine has or allows none.
#   with_slurm.sh COMMAND [ARGUMENT …]
set -uo pipefail
PATH=$PATH:/usr/sbin
for tool in munged slurmctld slurmd sbatch; do
    command -v "$tool" >/dev/null || { echo "no $tool here" >&2; exit 77; }
done
folder=$(mktemp -d -t orrery-slurm.XXXXXX)
started=()
stop() {
    [[ ${#started[@]} == 0 ]] || { kill -TERM "${started[@]}"; wait "${started[@]}"; } 2>/dev/null
    rm -rf "$folder"
}
trap stop EXIT
port=$((20000 + $$ % 20000))
node=$(hostname -s)
mkdir -m 755 "$folder"/{munge,state,spool}
(umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key")
export SLURM_CONF=$folder/slurm.conf
cat >"$SLURM_CONF" <<EOF
ClusterName=one
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
EOF
start() {
    "$@" >>"$folder/out" 2>&1 &
    started+=($!)
}
start munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
for _ in {1..50}; do [[ -S $folder/munge/socket ]] && break; sleep 0.1; done
start slurmctld -D -c
start slurmd -D
for _ in {1..150}; do
    [[ $(sinfo --noheader --format=%t 2>/dev/null) == idle ]] && ready=1 && break
    sleep 0.1
done
if [[ -z ${ready:-} ]]; then
    echo 'Slurm does not come up here:' >&2
    tail --quiet --lines=3 "$folder"/out "$folder"/*.log >&2
    exit 77
fi
"$@"
