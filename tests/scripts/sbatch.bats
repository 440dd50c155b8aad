#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The batch file with a planted srun, run from a spool folder as Slurm does.

bats_require_minimum_version 1.5.0

setup() {
    tmp=$(mktemp -d)
    bin=$tmp/bin
    mkdir -p "$bin" "$tmp/spool"
    cp "$BATS_TEST_DIRNAME/../../slurm/stepscale.sbatch" \
        "$tmp/spool/slurm_script"
    plant srun 'printf "[%s]" "$@"; eval "${MAKES:-true}"
        exit "${SRUN_CODE:-0}"'
    plant scancel 'echo "$@" >>"$tmp/cancelled"; kill -TERM $(cat "$tmp/step")'
    export tmp SLURM_JOB_ID=7
    unset STEPSCALE SS_OUT_FILE SLURM_CPU_BIND STEPSCALE_DEFAULTS STEPSCALE_PMI
    PATH=$bin:/usr/bin:/bin
    cd "$tmp" || return 1
}

teardown() {
    rm -rf "$tmp"
}

plant() { # plant NAME BODY
    printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

program() { # program FOLDER: stepscale installed there
    mkdir -p "$1/bin" "$1/share/stepscale"
    cp -r "$BATS_TEST_DIRNAME/../../launch" "$1/share/stepscale"
    printf '#!/bin/bash\nexit "${CHECK_CODE:-0}"\n' >"$1/bin/stepscale"
    chmod +x "$1/bin/stepscale"
}

batch() { # batch ARGUMENT...: without what is said of variables
    run --separate-stderr bash "$tmp/spool/slurm_script" "$@"
}

@test "arguments go to stepscale run, blanks kept, under pmix" {
    program "$tmp/a b"
    STEPSCALE="$tmp/a b/bin/stepscale" \
        batch --budget "5 min" x.y=1 --out r.h5
    [ "$status" = 0 ]
    [[ $output == "[--mpi=pmix][--kill-on-bad-exit=1][--cpu-bind=none]["*"/bind-device][$tmp/a b/bin/stepscale][run][--budget][5 min][x.y=1][--out][r.h5]" ]]
    [[ $stderr == *"variables: CUDA_DEVICE_ORDER=PCI_BUS_ID"* ]]
}

@test "a command that comes first; probe.sbatch probes" {
    program "$tmp/here"
    export STEPSCALE=$tmp/here/bin/stepscale
    batch validate --out r.h5
    [ "$status" = 0 ]
    [[ $output == *"[$STEPSCALE][validate][--out][r.h5]" ]]
    cp "$BATS_TEST_DIRNAME/../../slurm/probe.sbatch" "$tmp/spool/slurm_script"
    batch --exclude-file bad
    [ "$status" = 0 ]
    [[ $output == *"[$STEPSCALE][probe][--exclude-file][bad][--out][$tmp/stepscale-7.h5]" ]]
}

@test "fences of PMIx are trees, unless the site says otherwise" {
    program "$tmp/here"
    plant srun 'echo "$SLURM_PMIX_FENCE"'
    export STEPSCALE=$tmp/here/bin/stepscale
    batch
    [ "$output" = tree ]
    SLURM_PMIX_FENCE=ring batch
    [ "$output" = ring ]
}

@test "else the program on PATH; a result file named by the job" {
    program "$tmp/here"
    PATH=$tmp/here/bin:$PATH batch
    [ "$status" = 0 ]
    [[ $output == *"[$tmp/here/bin/stepscale][run][--out][$tmp/stepscale-7.h5]" ]]
}

@test "the site's binding and PMI are left" {
    program "$tmp/here"
    export STEPSCALE=$tmp/here/bin/stepscale
    SLURM_CPU_BIND=cores STEPSCALE_PMI=pmi2 batch --out r.h5
    [[ $output == "[--mpi=pmi2][--kill-on-bad-exit=1]["*bind-device* ]]
}

@test "a program without its launch folder: 12" {
    program "$tmp/here"
    rm -r "$tmp/here/share"
    STEPSCALE=$tmp/here/bin/stepscale batch
    [ "$status" = 12 ]
    [[ $stderr == *"share/stepscale/launch"* ]]
}

@test "without a program: one sentence that names both ways, code 12" {
    run bash "$tmp/spool/slurm_script"
    [ "$status" = 12 ]
    [[ $output == *STEPSCALE*PATH* ]]
    STEPSCALE=/no/such run bash "$tmp/spool/slurm_script"
    [ "$status" = 12 ]
    [[ $output == *"/no/such"* ]]
}

@test "the code of srun comes through; 13 for a lost rank" {
    program "$tmp/here"
    export STEPSCALE=$tmp/here/bin/stepscale
    SRUN_CODE=11 MAKES='touch r.h5' batch --out r.h5
    [ "$status" = 11 ]
    SRUN_CODE=137 MAKES='mkdir l.h5.part' batch --out l.h5
    [ "$status" = 13 ]
    SRUN_CODE=137 CHECK_CODE=10 MAKES='touch v.h5' batch --out v.h5
    [ "$status" = 10 ]
}

@test "SIGTERM to the batch shell is handed to the steps" {
    program "$tmp/here"
    export STEPSCALE=$tmp/here/bin/stepscale
    MAKES='trap "exit 11" TERM; echo $$ >$tmp/step; while :; do sleep 0.1; done' \
        bash "$tmp/spool/slurm_script" --out r.h5 >/dev/null 2>&1 3>&- &
    job=$!
    for _ in {1..100}; do
        [ ! -s step ] || break
        sleep 0.05
    done
    kill -TERM $job
    code=0
    wait $job || code=$?
    [ "$code" = 11 ]
    [ "$(cat cancelled)" = "--signal=TERM 7" ]
}
