#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clocks.sh CLOCK_PROGRAM: four virtual hosts whose monotonic clocks differ by
# hours, two ranks each, over TCP. Aligned times must agree within their bound,
# and ranks of one host share one clock. 77: cannot run here.
set -u
here=$(dirname "$(readlink -f "$0")")
program=$(readlink -f "$1")

skip() {
    echo "skipped: $*"
    exit 77
}
[[ $(id -u) == 0 ]] || skip "virtual hosts need root"
command -v ip >/dev/null || skip "virtual hosts need iproute2"
command -v mpirun >/dev/null || skip "no mpirun"
unshare --time --monotonic 1 --net --fork true 2>/dev/null ||
    skip "this kernel or container gives no time and network namespaces"

work=$(mktemp -d)
export VCLUSTER_DIR=$work/cluster
trap '"$here/vcluster" down; rm -rf "$work"' EXIT

# The last clock is behind by as much as the machine's uptime allows.
behind=$(awk '{print ($1 > 100 ? 60 : int($1 / 2))}' /proc/uptime)
"$here/vcluster" up --clocks "0,1000,5000,-$behind" 4 || exit 1
timeout 20 "$here/vcluster" mpirun 2 --map-by slot "$program" 4
