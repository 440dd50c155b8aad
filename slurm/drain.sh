#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The nodes that a result's error findings name, and with --yes Slurm is told
# to drain them. The file of one run decides, and never an exit code: a
# launcher may replace a code by its own.
set -u

usage() {
    cat <<'TEXT'
usage: drain.sh FILE [--run ID] [--yes]

Prints a line "NODE REASON" for each node that an error finding of the result
FILE (or .part folder) names: a slow or dead rank, device, node or link, a port,
corruption. With --yes, which wants the run's id (printed without it), sets them
to drain in Slurm with that reason. Nodes that are drained already are left.

0: done, or nothing to do. 2: wrong usage, an unreadable file, another run.
12: no jq, no scontrol, or a node that Slurm refuses.
TEXT
}

die() { # die CODE SENTENCE
    echo "drain.sh: $2" >&2
    exit "$1"
}

file='' run='' yes=0
while [ $# -gt 0 ]; do
    case $1 in
    --run)
        [ $# -gt 1 ] || die 2 "--run wants the id of a run"
        run=$2
        shift
        ;;
    --run=*) run=${1#*=} ;;
    --yes) yes=1 ;;
    --help | -h)
        usage
        exit 0
        ;;
    -*) die 2 "unknown option $1; see --help" ;;
    *)
        [ -z "$file" ] || die 2 "one file, not \"$file\" and \"$1\""
        file=$1
        ;;
    esac
    shift
done
[ -n "$file" ] || die 2 "which result file? See --help"
program=${STEPSCALE:-$(command -v stepscale)}
[ -x "$program" ] || die 12 "no program${program:+ at $program}: set \
STEPSCALE, or put stepscale on PATH"
command -v jq >/dev/null || die 12 "no jq; install it where drain.sh runs"
json=$("$program" report "$file" --format json --ranks none) || exit 2
id=$(jq -r .run.id <<<"$json") || die 2 "cannot read the report of $file"
if [ -n "$run" ] && [ "$run" != "$id" ]; then
    die 2 "$file is of run $id, not of $run"
fi

# Culprits that are, or sit in, one node. A setting is no reason to drain, and
# neither is a functional test (planted times, shared devices).
nodes=$(jq -r '
    .run.id[0:8] as $id
    | if .run.engine == "null" and ($ENV.STEPSCALE_DRAIN_NULL != "1")
      then empty else .findings[] end
    | select(.severity == "error" and .culprit.node != null)
    | select(.kind | IN("straggler_rank", "slow_device", "slow_node",
        "slow_link", "intermittent_link", "port_down", "port_rate",
        "port_errors", "no_gdr", "socket_fallback", "corruption", "hang",
        "lost_rank"))
    | [.culprit.node, "stepscale \($id): \(.kind)"
        + (if .culprit.device then " device \(.culprit.device)" else "" end)
        + (if .culprit.link then " \(.culprit.link)" else "" end)
        + (if .factor then ", \(.factor * 100 | round / 100) x" else "" end)]
    | @tsv' <<<"$json") || die 2 "cannot read the findings of $file"
nodes=$(awk -F '\t' '!seen[$1]++ { print }' <<<"$nodes")
if [ -z "$nodes" ]; then
    echo "run $id: no node to drain" >&2
    exit 0
fi
if [ $yes = 0 ]; then
    tr '\t' ' ' <<<"$nodes"
    echo "to drain: drain.sh $file --run $id --yes" >&2
    exit 0
fi
[ -n "$run" ] || die 2 "--yes wants --run $id, so that no old file drains"
command -v scontrol >/dev/null || die 12 "no scontrol on PATH"

bad=0
while IFS=$'\t' read -r node reason; do
    state=$(scontrol show node "$node" 2>&1)
    case $state in
    *State=*DRAIN*)
        echo "$node: is drained already"
        continue
        ;;
    *State=*) ;;
    *)
        echo "drain.sh: Slurm does not know $node: $state" >&2
        bad=1
        continue
        ;;
    esac
    if scontrol update "NodeName=$node" State=DRAIN "Reason=$reason"; then
        echo "$node: drained: $reason"
    else
        bad=1
    fi
done <<<"$nodes"
[ $bad = 0 ] || exit 12
