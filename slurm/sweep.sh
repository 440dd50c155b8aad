#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One job per node count, one after the other, and a last one that puts
# together what they left: for clusters where the nodes of the largest size
# come free late, or where each size is to get nodes of its own.
set -u

usage() {
    cat <<'TEXT'
usage: sweep.sh --nodes 1,2,4,8 [--folder FOLDER] [--sbatch WORD]...
                [--dry-run] [ARGUMENT...]

Submits stepscale.sbatch once per node count; each job starts when the one
before has ended, however it ended. ARGUMENTs go to `stepscale run`. A last job
merges the parts of jobs that were killed (stepscale merge) and writes
FOLDER/all.csv, one row a point, from all of them.

  --nodes LIST     node counts, in this order
  --folder FOLDER  results: nodes-1.h5 and so on (default: stepscale-sweep-TIME)
  --sbatch WORD    one more word for sbatch, e.g. --sbatch --ntasks-per-node=8
  --dry-run        print the sbatch lines, submit nothing

The program is $STEPSCALE, else `stepscale` on PATH.
TEXT
}

die() { # die CODE SENTENCE
    echo "sweep.sh: $2" >&2
    exit "$1"
}

program=${STEPSCALE:-$(command -v stepscale)}

# Inside the last job: Slurm runs a copy of this file with these words.
finish() { # finish FOLDER FILE...
    local folder=$1 file bad=0 header=''
    shift
    for file in "$@"; do
        if [ ! -e "$file" ] && [ -d "$file.part" ]; then
            echo "$file: its job did not end; merging its finished points"
            "$program" merge "$file" "$file.part" || bad=1
        fi
        if [ ! -e "$file" ]; then
            echo "$file: no result" >&2
            bad=1
            continue
        fi
        echo "== $file"
        "$program" report "$file" --ranks none || bad=1
        "$program" report "$file" --format csv |
            if [ -z "$header" ]; then cat; else tail -n +2; fi \
                >>"$folder/all.csv.tmp"
        header=1
    done
    [ ! -e "$folder/all.csv.tmp" ] ||
        mv "$folder/all.csv.tmp" "$folder/all.csv"
    echo "all points: $folder/all.csv"
    [ $bad = 0 ] || exit 11
    exit 0
}

[ "${1:-}" != --finish ] || finish "${@:2}"

nodes='' folder='' dry=0 words=()
while [ $# -gt 0 ]; do
    case $1 in
    --nodes | --folder | --sbatch)
        [ $# -gt 1 ] || die 2 "$1 wants a value"
        case $1 in
        --nodes) nodes=$2 ;;
        --folder) folder=$2 ;;
        --sbatch) words+=("$2") ;;
        esac
        shift
        ;;
    --nodes=*) nodes=${1#*=} ;;
    --folder=*) folder=${1#*=} ;;
    --sbatch=*) words+=("${1#*=}") ;;
    --dry-run) dry=1 ;;
    --help | -h)
        usage
        exit 0
        ;;
    --)
        shift
        break
        ;;
    *) break ;;
    esac
    shift
done
for word in "$@"; do
    case $word in --out | --out=* | out.file=*)
        die 2 "the jobs' files are named by --folder, not by $word" ;;
    esac
done
case $nodes in
'') die 2 "--nodes wants node counts, e.g. --nodes 1,2,4" ;;
*[!0-9,]* | ,* | *, | *,,*) die 2 "--nodes: \"$nodes\" is not a list like 1,2,4" ;;
esac
IFS=, read -ra counts <<<"$nodes"
twice=$(printf '%s\n' "${counts[@]}" | sort | uniq -d | paste -sd,)
[ -z "$twice" ] || die 2 "--nodes names $twice twice"
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$program" ] || die 12 "no program${program:+ at $program}: set \
STEPSCALE, or put stepscale on PATH"
export STEPSCALE=$program
folder=${folder:-stepscale-sweep-$(date +%Y%m%d-%H%M%S)}
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
[ ! -e "$folder" ] || die 2 "$folder is there already; choose another --folder"

job='' jobs='' files=()
submit() { # submit WORD...: into `job`
    if [ $dry = 1 ]; then
        printf '%q ' sbatch "$@"
        echo
        job=$((${job:-0} + 1))
        return
    fi
    job=$(sbatch --parsable "$@") || die 12 "sbatch refused; see above"
    job=${job%%;*} # a federation adds the cluster's name
}

[ $dry = 1 ] || mkdir -p "$folder" || die 12 "cannot make the folder $folder"
for n in "${counts[@]}"; do
    after=()
    [ -z "$job" ] || after=("--dependency=afterany:$job")
    submit "--nodes=$n" "--job-name=stepscale-$n" \
        "--output=$folder/nodes-$n.out" ${after[@]+"${after[@]}"} \
        ${words[@]+"${words[@]}"} "$here/stepscale.sbatch" \
        --out "$folder/nodes-$n.h5" "$@"
    jobs=$jobs:$job
    files+=("$folder/nodes-$n.h5")
done
submit --nodes=1 --ntasks=1 --time=00:10:00 --job-name=stepscale-end \
    "--output=$folder/end.out" "--dependency=afterany$jobs" \
    "$here/sweep.sh" --finish "$folder" "${files[@]}"
[ $dry = 1 ] || echo "results, and what the last job (number $job) prints: $folder"
