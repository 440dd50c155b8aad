# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2034
# Runs a launcher in a session of its own, ends it in order, and finds the exit
# code. Sourced by stepscale-mpirun and the batch file, which set:
#   program    stepscale
#   arguments  its own, without the command
#   line       the launcher and its words
#   kind       openmpi4, openmpi5, mpich or srun
# and call find_out, read_defaults FILE, for a run set_start_limit NODES, and
# supervise, in this order.

# --- what the words say ------------------------------------------------------

out='' resume=0
# From `arguments`: the result file that they name, and whether it is resumed.
find_out() {
    local word before='' file=''
    for word in "${arguments[@]}"; do
        case $before in
        --out) out=$word ;;
        --set) case $word in out.file=*) out=${word#out.file=} ;; esac ;;
        --config | -c) file=$word ;;
        --resume) resume=1 out=${word%.part} ;;
        esac
        case $word in
        --out=*) out=${word#--out=} ;;
        out.file=* | --set=out.file=*) out=${word#*out.file=} ;;
        --config=*) file=${word#--config=} ;;
        --resume=*) resume=1 out=${word#--resume=} out=${out%.part} ;;
        esac
        before=$word
    done
    out=${out:-${SS_OUT_FILE:-}}
    if [ -z "$out" ] && [ -n "$file" ]; then # a broken file is the run's to say
        out=$("$program" config --config "$file" 2>/dev/null |
            sed -n '/^out:/,/^[a-z]/s/^ *file: *"\(.*\)"$/\1/p')
    fi
}

# Exports what a defaults file sets and nobody else did; `said` tells of each.
read_defaults() { # read_defaults FILE
    local line name n=0
    said=()
    if [ ! -r "$1" ]; then
        echo "stepscale: cannot read the defaults file $1" >&2
        return 2
    fi
    while IFS= read -r line || [ -n "$line" ]; do
        n=$((n + 1))
        line=${line%$'\r'}
        case $line in '' | '#'*) continue ;; esac
        name=${line%%=*}
        if ! [[ $line == *=* && $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]]; then
            echo "stepscale: $1 line $n: \"$line\" is not NAME=VALUE" >&2
            return 2
        fi
        if [ -n "${!name+set}" ]; then
            said+=("$name=${!name} (was set)")
        else
            export "$name=${line#*=}"
            said+=("$line")
        fi
    done <"$1"
}

# --- ending it ---------------------------------------------------------------

# Seconds: how long an order to end may take (the launcher's own kill timeout
# comes first), and when a job with last words, or with a result, must be over.
ORDER_LIMIT=${STEPSCALE_ORDER_LIMIT:-15}
WORDS_TERM=4 WORDS_KILL=5
RESULT_TERM=30 RESULT_KILL=35

# Asks the job to end. srun does not hand SIGTERM on, scancel does.
tell() {
    case $kind in
    srun) scancel --signal=TERM "$SLURM_JOB_ID" 2>/dev/null ;;
    *) kill -TERM "$pid" 2>/dev/null ;;
    esac
}

session() { # session SIGNAL: to everything that the launcher started here
    [ $kind != srun ] || scancel --signal=KILL "$SLURM_JOB_ID" 2>/dev/null
    pkill "-$1" -s "$pid" 2>/dev/null || kill "-$1" -- "-$pid" 2>/dev/null
}

# A launcher that cannot reach a host may wait for it without end, and no rank
# is there to notice. Ranks have the same deadline, and 5 s to end by it.
set_start_limit() { # set_start_limit NODES
    local word value=${SS_DEADLINE_START:-}
    for word in "${arguments[@]}"; do
        case $word in *deadline.start=*) value=${word##*deadline.start=} ;; esac
    done
    start_limit=$((120 + $1 / 5))
    case $value in
    *[!0-9a-z]* | 0* | '') ;;
    *ms) start_limit=$((${value%ms} / 1000 + 1)) ;;
    *min) start_limit=$((${value%min} * 60)) ;;
    *h) start_limit=$((${value%h} * 3600)) ;;
    *[0-9]) start_limit=$value ;;
    *[0-9]s) start_limit=${value%s} ;;
    esac
    start_limit=$((start_limit + 10))
}

start_limit=0 late=0
asked_at='' words_at='' result_at='' pid='' told=0
on_signal() {
    [ -z "$asked_at" ] || return # it has been told already
    asked_at=$SECONDS
    [ -z "$pid" ] || tell
}

# The files of the job; `validate` writes one of its probe before the other.
outs() {
    [ "${command:-run}" != validate ] || echo "${out%.h5}-probe.h5"
    echo "$out"
}

has_any() { # has_any SUFFIX: of the files, or their part folders
    local file
    while IFS= read -r file; do
        [ ! -e "$file$1" ] || return 0
    done < <(outs)
    return 1
}

# A rank gave up (not one that was told to stop, or asked by another).
has_words() {
    local file
    [ -n "$out" ] || return 1
    while IFS= read -r file; do
        grep -slE '^why=' "$file".part/last-*.txt
    done < <(outs) |
        xargs -r -d '\n' grep -LE '^why=(asked|SIGTERM)' 2>/dev/null | grep -q .
}

note_progress() {
    if [ -z "$words_at" ] && has_words; then
        words_at=$SECONDS
    fi
    if [ -z "$result_at" ] && [ $stale = 0 ] && [ -n "$out" ] && [ -e "$out" ]
    then
        result_at=$SECONDS
    fi
}

since() { # since START LIMIT: START is known, and so long ago
    [ -n "$1" ] && [ $((SECONDS - $1)) -ge "$2" ]
}

# A run writes its part folder when it has started; with --resume it is there.
note_late_start() {
    if [ $late = 0 ] && [ "$start_limit" -gt 0 ] && [ $stale = 0 ] &&
        [ "$resume" = 0 ] && [ -n "$out" ] && ! has_any '' &&
        ! has_any .part && since "$began_at" "$start_limit"; then
        late=1
        echo "stepscale: nothing has started in $start_limit s: ${line[0]}" \
            "waits for a rank or a host that does not come; see whether all" \
            "hosts can be reached, from each other too (deadline.start)" >&2
    fi
}

end_if_due() {
    note_late_start
    if [ $late = 1 ]; then
        session KILL
        return
    fi
    if since "$words_at" $WORDS_KILL || since "$result_at" $RESULT_KILL ||
        since "$asked_at" "$ORDER_LIMIT"; then
        session KILL
    elif [ $told = 0 ] && { since "$words_at" $WORDS_TERM ||
        since "$result_at" $RESULT_TERM; }; then
        told=1
        tell
    fi
}

# For whoever reads the folder: nobody asked the launcher to end.
note_end() { # note_end LAUNCHER-CODE
    printf 'rank=-1\nwhy=launcher\nphase=%s ended with %s\n' \
        "${line[0]##*/}" "$1" >"$out.part/last-launcher.txt" 2>/dev/null
}

# The verdict's code in the file; for a .part folder, of what is there.
stored_code() { # stored_code PATH
    "$program" report "$1" --check --format json >/dev/null 2>&1
}

# The launcher's code is ours, or means that it is not (MPICH returns the
# number of a signal): then the file decides, and where it tells of no verdict,
# a rank was lost.
final_code() { # final_code LAUNCHER-CODE
    local code=$1
    if [ $late = 1 ] || [ -n "$words_at" ] || has_words; then
        return 13
    fi
    case $code in
    0 | 2 | 12 | 13) return "$code" ;;
    10 | 11)
        [ $kind = mpich ] && [ -n "$out" ] && [ ! -e "$out" ] &&
            [ -z "$asked_at" ] || return "$code"
        ;;
    esac
    if [ $stale = 0 ] && [ -n "$out" ]; then
        if [ -e "$out" ]; then
            stored_code "$out"
            return
        elif [ -n "$asked_at" ] && [ -d "$out.part" ]; then
            stored_code "$out.part"
            return
        elif ! has_any .part && [ $code -le 128 ]; then
            echo "stepscale: nothing was measured: ${line[0]} ended with $code" \
                "before the first point; what it says stands above" >&2
            [ -z "$asked_at" ] || return 11
            return 12
        fi
    fi
    [ -z "$asked_at" ] || return 11
    echo "stepscale: a rank was lost: ${line[0]} ended with" \
        "$code${out:+; finished points: stepscale report $out.part}" >&2
    [ $stale = 1 ] || [ ! -d "$out.part" ] || note_end "$code"
    return 13
}

supervise() {
    local code nap
    stale=0
    if [ "${resume:-0}" = 0 ] && [ -n "$out" ] &&
        { has_any '' || has_any .part; }; then
        stale=1 # of an earlier run: the run will refuse it
    fi
    began_at=$SECONDS
    trap on_signal TERM INT HUP USR1
    setsid "${line[@]}" </dev/null &
    pid=$!
    # asked between the trap and here: nobody has told the launcher
    [ -z "$asked_at" ] || tell
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.5 &
        nap=$!
        wait "$nap" 2>/dev/null
        kill "$nap" 2>/dev/null
        note_progress
        end_if_due
    done
    wait "$pid"
    code=$?
    # what it left behind, on this host
    pkill -KILL -s "$pid" 2>/dev/null
    final_code "$code"
}

# --- a batch job -------------------------------------------------------------

# What both batch files do once they have found this file: `program` and
# `launch`, its folder, are theirs.
run_batch() { # run_batch COMMAND ARGUMENT...
    local command=$1
    shift
    arguments=("$@")
    find_out
    if [ -z "$out" ]; then
        out=$PWD/stepscale-${SLURM_JOB_ID:-$$}.h5
        arguments+=(--out "$out")
    fi
    read_defaults "${STEPSCALE_DEFAULTS:-$launch/defaults.env}" || return 2
    printf 'variables: %s\n' "${said[*]}" >&2

    # Slurm's default mix of two kinds of fences has let ranks out of MPI_Init
    # while others were still in it: their first messages crashed Open MPI (2 of
    # 34 starts on a crowded machine with Slurm 22.05; none of 93 with trees).
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-tree}

    # PMIx gives every task its rank; without --kill-on-bad-exit tasks that lost
    # a peer would wait for the end of the allocation. Slurm's binding of a task
    # to one core would starve NCCL's threads: bind-device knows the GPU's cores.
    kind=srun line=(srun "--mpi=${STEPSCALE_PMI:-pmix}" --kill-on-bad-exit=1)
    [ -n "${SLURM_CPU_BIND:-}" ] || line+=(--cpu-bind=none)
    line+=("$launch/bind-device" "$program" "$command" "${arguments[@]}")
    set_start_limit "${SLURM_NNODES:-1}"
    supervise
}
