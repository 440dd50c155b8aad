#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where the program is started is not as it should be: something stands in its
# output's place, its standard files are closed or full, limits of the shell
# are low, others work on the same result. One clear sentence, and nothing that
# was measured is lost.

load ../endtoend/lib

setup() {
    e2e_setup
}
teardown() {
    e2e_teardown
}

# with SHELL WORDS: the job with its surroundings changed by those words.
with() {
    local words=$1
    shift
    # shellcheck disable=SC2016 # for the inner shell
    command_limited bash -c "$words"' exec "$@" '"${redirect:-}" _ "$@"
}
# the_result: all that was measured stands in r.h5.
the_result() {
    nothing_runs
    [[ -s r.h5 && ! -e r.h5.part ]] || fail "no result"
    "$program" report r.h5 --format json >result.json || fail "not readable"
    /usr/bin/python3 - result.json <<'PY' || fail "not complete"
import json, sys
run = json.load(open(sys.argv[1]))
assert run["run"]["complete"] and run["points"], run["run"]
PY
}

@test "what stands in the output's place is named by its kind" {
    mkdir folder
    mkfifo pipe
    ln -s nowhere link
    : >x.h5.part
    mkdir y.h5.part
    while read -r out pattern; do
        solo run "${small[@]}" --out "$out"
        refused 2 "$pattern" keep
    done <<'CASES'
folder is a folder; name a file in it
pipe is no plain file
link is no plain file
/dev/null is no plain file
x.h5 x.h5.part already exists and is no folder
y.h5 y.h5.part already exists and holds no points
CASES
    [[ -L link && -p pipe ]] || fail "touched"
}

@test "nobody reads the report" {
    for redirect in '>&-' '>/dev/full'; do
        with "" "$program" run "${small[@]}" --out r.h5
        ((status == 12)) || fail "exit code"
        [[ $stderr == *"cannot write the report: "* ]] || fail "not said"
        [[ $stderr == *"result: r.h5" ]] || fail "the file is not named"
        the_result
        rm r.h5
    done
    redirect='| head -c 1'
    with "" "$program" run "${small[@]}" --out r.h5
    the_result
}

@test "no standard files at all" {
    redirect='<&- >&- 2>&-'
    with "" "$program" run "${small[@]}" --out r.h5 --log-level trace
    ((status == 12)) || fail "exit code"
    the_result
}

@test "a closed terminal of stderr is no fault" {
    redirect='2>&-'
    with "" "$program" run "${small[@]}" --out r.h5
    ((status == 0)) || fail "exit code"
    the_result
}

@test "output that does not arrive is a failure" {
    for words in --help --version "plan --tp 2" config "run --help" \
        "run --engine null --dry-run"; do
        redirect='>/dev/full'
        # shellcheck disable=SC2086 # words
        with "" "$program" $words
        refused 12 'cannot write to stdout'
        redirect='>&-'
        # shellcheck disable=SC2086 # words
        with "" "$program" $words
        refused 12 'cannot write to stdout'
    done
}

@test "a limit on the size of files" {
    with "ulimit -f 1;" "$program" run "${small[@]}" --out r.h5
    refused 12 'cannot write r.h5.part/0000.h5: file too large.*ulimit -f'
    with "ulimit -f 40;" "$program" run "${small[@]}" --out r.h5
    refused 12 'cannot write r.h5: file too large' keep
    [[ -s r.h5.part/0002.h5 && ! -e r.h5.tmp ]] || fail "points are lost"
    solo merge r.h5 r.h5.part
    ((status == 0)) || fail "cannot merge"
    the_result
}

@test "few addresses" {
    with "ulimit -v 300000;" "$program" --version
    ((status == 0)) || skip "this build needs more to start"
    with "ulimit -v 300000;" "$program" run "${small[@]}" --engine host \
        --out r.h5
    refused 12 'needs 512 MB of address space.*ulimit -v'
    with "ulimit -v 300000;" "$program" run "${small[@]}" --out r.h5
    ((status == 0)) || fail "exit code"
    the_result
}

@test "few open files" {
    with "ulimit -n 16;" "$program" run "${small[@]}" --out r.h5
    ((status == 0)) || fail "exit code"
    the_result
}

@test "no HOME, no TMPDIR, an unknown locale" {
    command_limited env -i "$program" run "${small[@]}" --out r.h5
    ((status == 0)) || fail "exit code"
    the_result
    rm r.h5
    command_limited env TMPDIR=/nonexistent HOME=/nonexistent LC_ALL=xx_XX \
        "$program" run "${small[@]}" --out r.h5
    ((status == 0)) || fail "exit code"
    the_result
}

@test "others work on a result that is being written" {
    "$mpirun" 2 env E2E_MARK="$mark" "$program" run "${small[@]}" \
        null.gemm_ms=20 null.pace=1 measure.min_blocks=4 --out r.h5 \
        >job.out 2>&1 3>&- &
    for ((i = 0; i < 100; i++)); do
        [[ ! -s r.h5.part/0001.h5 ]] || break
        sleep 0.1
    done
    ranks 2 run "${small[@]}" --out r.h5
    (($(grep -c "r.h5.part holds the points" <<<"$stderr") == 1)) ||
        fail "a second run is not refused"
    solo merge r.h5 r.h5.part
    ((status == 2)) || fail "merged under its writer"
    [[ $stderr == *"in use by another stepscale"* ]] || fail "not said"
    while [[ -e r.h5.part || ! -e r.h5 ]]; do # also while it moves
        solo report r.h5 --format csv
        ((status == 0)) || fail "not readable"
    done
    wait
    the_result
}

@test "several merges at once" {
    for round in 1 2 3; do
        "${SS_WRITE_PARTS:?}" y.h5 8 >/dev/null
        for i in 1 2 3; do
            "$program" merge y.h5 y.h5.part >"$i.out" 2>&1 3>&- && : >won &
        done
        wait
        [[ -e won ]] || fail "none merged in round $round"
        solo report y.h5 --format json
        ((status == 0)) || fail "not readable"
        (($(grep -o '"curve"' <<<"$output" | wc -l) == 8)) || fail "points"
        [[ ! -e y.h5.part && ! -e y.h5.tmp ]] || fail "left behind"
        rm y.h5 won
    done
}

@test "the terminal goes away" {
    # a shell gives its children in the background other signals: python does
    command_limited /usr/bin/python3 - "$program" run "${small[@]}" \
        null.gemm_ms=20 null.pace=1 measure.min_blocks=4 --out r.h5 <<'PY'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
job = subprocess.Popen(sys.argv[1:])
while not os.path.exists("r.h5.part/0001.h5"):
    time.sleep(0.02)
job.send_signal(signal.SIGHUP)
sys.exit(job.wait())
PY
    ((status == 11)) || fail "exit code"
    [[ $output == *"stopped by SIGHUP after 1 of 2 points"* ]] || fail "why"
    [[ -s r.h5 && ! -e r.h5.part ]] || fail "no result"
}
