#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cluster_run.sh STEPSCALE: four virtual hosts, two ranks each, real Open MPI
# over TCP. The main job runs (host engine, then null), its file names four
# nodes, and --map-by node gives the same logical order as the default. (What
# becomes of a job that loses a host: cluster_ends.py.) 77: cannot run here.
set -u
here=$(dirname "$(readlink -f "$0")")
program=$(readlink -f "$1")
vcluster=$here/../cluster/vcluster

skip() {
    echo "skipped: $*"
    exit 77
}
[[ $(id -u) == 0 ]] || skip "virtual hosts need root"
command -v ip >/dev/null || skip "virtual hosts need iproute2"
command -v mpirun >/dev/null || skip "no mpirun"
unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null ||
    skip "this kernel or container gives no namespaces"

work=$(mktemp -d "${TMPDIR:-/tmp}/ss-cluster-XXXXXX") || exit 1
export VCLUSTER_DIR=$work/cluster E2E_MARK=$work
end() {
    "$vcluster" down
    rm -rf "$work"
}
trap end EXIT
fail() {
    echo "failed: $*" >&2
    sed 's/^/    /' "$work/err" >&2
    exit 1
}

"$vcluster" up 4 || skip "no virtual hosts here"

# job NAME LIMIT MPIRUN-ARGS... -- ARGS...: a run that must end well
job() {
    local out=$work/$1.h5 limit=$2 map=()
    shift 2
    while [[ $1 != -- ]]; do
        map+=("$1")
        shift
    done
    shift
    timeout -k 5 "$limit" "$vcluster" mpirun 2 ${map[@]+"${map[@]}"} \
        "$program" run --out "$out" out.format=none "$@" \
        >"$work/out" 2>"$work/err"
    local code=$?
    # the host engine on shared cores may find the machine uneven: 10 and 11
    # are verdicts, anything else is a failure of the program
    [[ $code =~ ^(0|10|11)$ ]] || fail "$out: code $code"
    [[ -s $out ]] || fail "$out is missing"
    "$program" report "$out" --format json --ranks all >"${out%.h5}.json" \
        2>"$work/err" || fail "report $out"
}

null=(--engine null model.layers=1 model.hidden=256 model.tokens=512
    null.gemm_ms=1 null.collective_ms=0.1 measure.min_block=0ms
    measure.min_blocks=3 measure.max_blocks=3 measure.budget=1h)
job default 60 -- "${null[@]}"
job by_node 60 --map-by node -- "${null[@]}"
job host 120 -- --engine host model.layers=1 model.hidden=128 \
    model.tokens=128 scaling.min_tokens=1 measure.min_blocks=3 \
    measure.min_block=20ms measure.budget=12s device.threads=1

/usr/bin/python3 - "$work" <<'PY' || fail "the results are not as they should be"
import json
import sys

def load(name):
    with open(f"{sys.argv[1]}/{name}.json") as file:
        return json.load(file)

def order(result):
    """Logical rank -> node, of the point that all ranks ran."""
    point = [p for p in result["points"] if p["size"] == 8][0]
    rows = sorted(point["ranks"], key=lambda row: row["rank"])
    return ([row["node"] for row in rows],
            [row["mpi_rank"] for row in rows])

expected = [node for node in ("n1", "n2", "n3", "n4") for _ in range(2)]
for name in ("default", "by_node", "host"):
    result = load(name)
    assert result["run"]["nodes"] == ["n1", "n2", "n3", "n4"], name
    assert result["run"]["world"] == 8, name
    assert result["run"]["complete"], name
    sizes = {p["size"] for p in result["points"]}
    assert sizes == {1, 2, 4, 8}, (name, sizes)
    nodes, ranks = order(result)
    assert nodes == expected, (name, nodes)
    assert sorted(ranks) == list(range(8)), (name, ranks)
slots = order(load("default"))[1]
cyclic = order(load("by_node"))[1]
assert slots == list(range(8)), slots
assert cyclic == [0, 4, 1, 5, 2, 6, 3, 7], cyclic
print("4 nodes, 8 ranks; --map-by node gives the same logical order")
measured = [p for p in load("host")["points"] if p["step_ms"]["median"]]
assert 8 in {p["size"] for p in measured}, "not even the world was measured"
for point in measured:
    assert point["verified"], (point["size"], point["status"])
print(f"host engine: {len(measured)} points measured and verified")
PY
