#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# probe.sh STEPSCALE CASE [HOSTS [BUDGET]]: `stepscale probe` on virtual hosts
# over real TCP, links shaped to FAST (400) Mbit/s, faults to SLOW (80). CASE: slow_host (one at 80),
# slow_pair (one path at 80), uniform (all at 80, wire 400), healthy, flicker
# (one host at 40 for a tenth of the time), one_way (what n1 sends to n3 at 80).
# Checks who is named, by how much, and that nobody else is. KEEP: a file that
# the result is copied to. 77: cannot run here, or (BUSY=skip) other programs
# hold the cores, so that they are what is measured.
set -u
here=$(dirname "$(readlink -f "$0")")
program=$(readlink -f "$1")
case=$2 hosts=${3:-8} budget=${4:-9s}
vcluster=$here/vcluster

skip() {
    echo "skipped: $*"
    exit 77
}
[[ $(id -u) == 0 ]] || skip "virtual hosts need root"
command -v ip >/dev/null || skip "virtual hosts need iproute2"
command -v mpirun >/dev/null || skip "no mpirun"
unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null ||
    skip "this kernel or container gives no namespaces"

busy() { # are more than twice as many tasks running as there are cores?
    local running=0 now
    for _ in 1 2 3 4 5; do
        now=$(cut -d' ' -f4 /proc/loadavg)
        running=$((running + ${now%/*}))
        sleep 0.1
    done
    ((running > 5 * (2 * $(nproc) + 1)))
}
[[ ${BUSY:-} != skip ]] || ! busy || skip "this machine is busy"

work=$(mktemp -d "${TMPDIR:-/tmp}/ss-probe-XXXXXX") || exit 1
export VCLUSTER_DIR=$work/cluster
flicker=
end() {
    [[ -z $flicker ]] || kill "$flicker" 2>/dev/null
    "$vcluster" down
    rm -rf "$work"
}
trap end EXIT

fast=${FAST:-400} slow_rate=${SLOW:-80}mbit
rate=${fast}mbit slow=$(((hosts + 2) / 2))
[[ $case != uniform ]] || rate=$slow_rate
"$vcluster" up "$hosts" "$rate" || skip "no virtual hosts here"
args=("probe.wire=${fast}mbit" probe.ucx=no
    probe.ops=none)
case $case in
slow_host) "$vcluster" limit "n$slow" "$slow_rate" ;;
slow_pair) "$vcluster" limit-pair n2 "n$hosts" "$slow_rate" ;;
one_way) "$vcluster" limit-one-way n1 n3 "$slow_rate" ;;
flicker)
    args+=(probe.soak="${SOAK:-60s}")
    # 1 s of each 10 s
    (while sleep 9; do
        "$vcluster" limit n3 40mbit
        sleep 1
        "$vcluster" limit n3 "${fast}mbit"
    done) &
    flicker=$!
    ;;
esac
timeout -k 5 "${LIMIT:-60}" "$vcluster" mpirun 1 "$program" probe \
    --out "$work/a.h5" --budget "$budget" --exclude-file "$work/bad" \
    "${args[@]}" >"$work/out" 2>"$work/err"
code=$?
cat "$work/out"
sed 's/^/# /' "$work/err" >&2
failed() {
    [[ ${BUSY:-} != skip ]] || ! busy || skip "this machine is busy"
    exit 1
}
"$program" report "$work/a.h5" --format json >"$work/json" || failed
[[ -z ${KEEP:-} ]] || cp "$work/a.h5" "$KEEP"
python3 - "$case" "$code" "$work/json" "$work/bad" "$hosts" \
    "$fast" "${slow_rate%mbit}" <<'PY' || failed
import json, sys
case, code, path, bad, hosts, fast, slow_rate = sys.argv[1:]
factor = float(fast) / float(slow_rate)
code, hosts = int(code), int(hosts)
slow = (hosts + 2) // 2
result = json.load(open(path))
links = [f for f in result["findings"] if f["kind"] in (
    "slow_link", "slow_node", "slow_path", "slow_uniform", "slow_rail",
    "intermittent_link")]
excluded = open(bad).read().strip()
def want(what, true):
    if not true:
        sys.exit(f"{case}: {what}: code {code}, excluded {excluded!r}, "
                 + json.dumps(links, indent=1))
want("every pair measured", len({(p["a"], p["b"]) for p in result["pairs"]
     if p["direction"] == "one_way"}) == hosts * (hosts - 1))
want("verdict and code agree", result["verdict"]["exit_code"] == code)
if case == "healthy":
    want("nobody is accused", links == [] and code == 0 and excluded == "")
    sys.exit(0)
want("one finding", len(links) == 1)
f = links[0]
want("it fails", code == 10 and f["severity"] == "error")
want("it is sure", f["confidence"] > 0.95)
if case == "slow_host":
    want("the host's link", f["kind"] == "slow_link"
         and f["culprit"]["node"] == f"n{slow}" and "eth0" in f["culprit"]["link"])
    want("its factor", 0.85 < f["factor"] / factor < 1.15)
    want("the host is excluded", excluded == f"n{slow}")
elif case == "slow_pair":
    want("the path", f["kind"] == "slow_path"
         and f["culprit"]["link"] == f"n2 - n{hosts}" and excluded == "")
    want("its factor", 0.8 < f["factor"] / factor < 1.2)
elif case == "one_way":
    want("the path, one way", f["kind"] == "slow_path"
         and f["culprit"]["link"] == "n1 -> n3" and excluded == ""
         and "in this direction" in f["evidence"])
    want("its factor", 0.8 < f["factor"] / factor < 1.2)
elif case == "uniform":
    want("the wire", f["kind"] == "slow_uniform" and excluded == ""
         and f"of {fast} Mbit/s" in f["evidence"])
elif case == "flicker":
    want("the host at times", f["kind"] == "intermittent_link"
         and f["culprit"]["node"] == "n3" and " s, " in f["evidence"])
PY
