#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ucx.sh STEPSCALE [ROUNDS]: `stepscale probe` over UCX beside ucx_perftest, in
# interleaved rounds (default 7), over a link shaped to 1 Gbit/s between two
# virtual hosts and in shared memory. Prints medians of ucx_perftest's overall
# column, of its second run in the same round (the A/A ratio) and of the probe.
# Not a test: it prints a table and passes. 77: cannot run here.
set -u
program=$(readlink -f "$1")
rounds=${2:-7}
vcluster=$(dirname "$(readlink -f "$0")")/../cluster/vcluster
command -v ucx_perftest >/dev/null || {
    echo "skipped: no ucx_perftest (package ucx-utils)"
    exit 77
}
[[ $(id -u) == 0 ]] || {
    echo "skipped: virtual hosts need root"
    exit 77
}
work=$(mktemp -d "${TMPDIR:-/tmp}/ss-ucx-XXXXXX") || exit 1
export VCLUSTER_DIR=$work/cluster OMPI_MCA_mpi_yield_when_idle=1
end() {
    "$vcluster" down
    rm -rf "$work"
}
trap end EXIT
"$vcluster" up 2 1gbit || exit 77

on() { # on HOST CMD...: "here" or a virtual host
    local host=$1
    shift
    if [[ $host == here ]]; then "$@"; else "$vcluster" run "$host" "$@"; fi
}

perftest() { # perftest HOST HOST ADDRESS TEST BYTES COUNT: bytes/s, overall
    local port=$((20000 + RANDOM % 10000))
    on "$1" timeout 60 ucx_perftest -p "$port" >/dev/null 2>&1 &
    local server=$!
    sleep 0.5
    on "$2" timeout 60 ucx_perftest "$3" -p "$port" -t "$4" -s "$5" -n "$6" \
        -w $(($6 / 10 + 1)) 2>/dev/null |
        awk '/^Final:/ { printf "%.0f\n", $7 * 1048576 }'
    wait "$server" 2>/dev/null
}

probe() { # probe BYTES COMMAND...: "tag put", bytes/s one way
    local bytes=$1
    shift
    rm -rf "$work"/p.h5*
    timeout 60 "$@" "$program" probe --out "$work/p.h5" --budget 12s \
        "probe.sizes=8,$bytes" >/dev/null 2>&1
    "$program" report "$work/p.h5" --format json | python3 -c '
import json, sys
pairs = json.load(sys.stdin)["pairs"]
for name in "ucx_tag", "ucx_put":
    v = [p["gbs"] for p in pairs
         if p["library"] == name and p["direction"] == "one_way"]
    print("%.0f" % (1e9 * sum(v) / len(v)) if v else "nan", end=" ")'
}

measure() { # measure PLACE BYTES COUNT HOST HOST ADDRESS -- PROBE...
    local place=$1 bytes=$2 count=$3 a=$4 b=$5 address=$6 i
    shift 7
    for ((i = 0; i < rounds; i++)); do
        for test in tag_bw ucp_put_bw; do
            echo "$place $test first" \
                "$(perftest "$a" "$b" "$address" $test "$bytes" "$count")"
            echo "$place $test second" \
                "$(perftest "$a" "$b" "$address" $test "$bytes" "$count")"
        done
        read -r tag put < <(probe "$bytes" "$@")
        echo "$place tag_bw probe $tag"
        echo "$place ucp_put_bw probe $put"
    done
}
{
    UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 measure "1 Gbit/s" 65536 4000 \
        n1 n2 n1 -- "$vcluster" mpirun 1
    UCX_TLS=posix,cma,self measure "shared memory" 262144 20000 \
        here here localhost -- mpirun --allow-run-as-root --oversubscribe \
        -np 2
} >"$work/table"
python3 - "$work/table" <<'PY'
import collections, statistics, sys
seen = collections.defaultdict(list)
for line in open(sys.argv[1]):
    place, test, who, value = line.rstrip().rsplit(" ", 3)
    seen[place, test, who].append(float(value))
print("| where | test | ucx_perftest, GB/s | A/A | probe, GB/s | ratio |")
print("|---|---|---|---|---|---|")
for place, test, who in list(seen):
    if who != "probe":
        continue
    a, b, p = (statistics.median(seen[place, test, w])
               for w in ("first", "second", "probe"))
    print(f"| {place} | {test} | {a/1e9:.4g} | {b/a:.3f} | {p/1e9:.4g} "
          f"| {p/a:.3f} |")
PY
