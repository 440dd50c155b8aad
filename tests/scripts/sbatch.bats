#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The batch file with a planted srun, run from a spool folder as Slurm does.

setup() {
    tmp=$(mktemp -d)
    bin=$tmp/bin
    mkdir -p "$bin" "$tmp/spool"
    cp "$BATS_TEST_DIRNAME/../../slurm/stepscale.sbatch" \
        "$tmp/spool/slurm_script"
    printf '#!/bin/bash\nprintf "[%%s]" "$@"\nexit "${SRUN_CODE:-0}"\n' \
        >"$bin/srun"
    chmod +x "$bin/srun"
    unset STEPSCALE
    PATH=$bin:/usr/bin:/bin
    cd / || return 1
}

teardown() {
    rm -rf "$tmp"
}

program() { # program FOLDER: a stepscale there
    mkdir -p "$1"
    printf '#!/bin/bash\n' >"$1/stepscale"
    chmod +x "$1/stepscale"
}

@test "arguments go to stepscale run, blanks kept, under pmix" {
    program "$tmp/a b"
    STEPSCALE="$tmp/a b/stepscale" run \
        bash "$tmp/spool/slurm_script" --budget "5 min" x.y=1
    [ "$status" = 0 ]
    [ "$output" = "[--mpi=pmix][--kill-on-bad-exit=1][$tmp/a b/stepscale][run][--budget][5 min][x.y=1]" ]
}

@test "else the program on PATH" {
    program "$bin"
    run bash "$tmp/spool/slurm_script"
    [ "$status" = 0 ]
    [[ $output == *"[$bin/stepscale][run]"* ]]
}

@test "without a program: one sentence that names both ways, code 12" {
    run bash "$tmp/spool/slurm_script"
    [ "$status" = 12 ]
    [[ $output == *STEPSCALE*PATH* ]]
    STEPSCALE=/no/such run bash "$tmp/spool/slurm_script"
    [ "$status" = 12 ]
    [[ $output == *"/no/such"* ]]
}

@test "the code of srun comes through" {
    program "$bin"
    SRUN_CODE=13 run bash "$tmp/spool/slurm_script"
    [ "$status" = 13 ]
}
