#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a script that has two machines beside its own, "head": "one" and "two", each with processes,
# network and host name of its own, on one switch (namespaces of Linux; all is gone afterwards).
# Status 77: this machine has or allows none.
#   with_two_machines.sh SCRIPT
# In SCRIPT
#   on MACHINE WORD …   runs a shell command there, by a cable of its own
#   far MACHINE WORD …  the same over the network, as ssh does (far_shell.py)
#   unplug MACHINE      pulls its cable
#   plug MACHINE        puts it back
#   switch_off MACHINE  ends all that runs there, at once
set -uo pipefail
for tool in unshare nsenter ip mount python3; do
    command -v "$tool" >/dev/null || { echo "no $tool here" >&2; exit 77; }
done
if [[ -z ${ORRERY_MACHINES:-} ]]; then
    unshare --net --uts --pid --fork --mount-proc true 2>/dev/null ||
        { echo 'no namespaces are allowed here' >&2; exit 77; }
    ORRERY_MACHINES=$(mktemp -d -t orrery-machines.XXXXXX)
    export ORRERY_MACHINES
    trap 'rm -rf "$ORRERY_MACHINES"' EXIT
    unshare --net --uts --pid --fork --kill-child --mount-proc "$0" "$@"
    exit
fi
cat >"$ORRERY_MACHINES/hosts" <<'END'
127.0.0.1 localhost
10.77.0.10 head
10.77.0.1 one
10.77.0.2 two
END
cat >"$ORRERY_MACHINES/on" <<'END'
#!/usr/bin/env bash
machine=$1
shift
exec nsenter --target "$(<"$ORRERY_MACHINES/$machine")" --net --uts --mount --pid \
    --wdns="$PWD" sh -c "$*"
END
chmod +x "$ORRERY_MACHINES/on"
ln -s "$(realpath "$(dirname "$0")")/far_shell.py" "$ORRERY_MACHINES/far"
PATH=$ORRERY_MACHINES:$PATH
unplug() { ip link set "to_$1" down; }
plug() { ip link set "to_$1" up; }
switch_off() { kill -KILL "$(<"$ORRERY_MACHINES/$1")"; }
{
    hostname head &&
        mount --bind "$ORRERY_MACHINES/hosts" /etc/hosts &&
        ip link set lo up &&
        ip link add switch address 02:00:00:00:00:10 type bridge &&
        ip addr add 10.77.0.10/24 dev switch &&
        ip link set switch up
} || exit 77
address=0
for machine in one two; do
    unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
        bash -c "hostname $machine; exec sleep infinity" &
    for _ in {1..200}; do
        pgrep -P $! -x sleep >"$ORRERY_MACHINES/$machine" && break
        sleep 0.05
    done
    ip link add "to_$machine" type veth peer name cable netns "$(<"$ORRERY_MACHINES/$machine")" &&
        ip link set "to_$machine" master switch up || exit 77
    on "$machine" "ip link set lo up; ip addr add 10.77.0.$((++address))/24 dev cable
        ip link set cable up; '$ORRERY_MACHINES/far' serve >/dev/null &"
done
source "$(realpath "$1")"
