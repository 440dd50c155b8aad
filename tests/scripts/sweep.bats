#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slurm/sweep.sh with a planted sbatch and program.

setup() {
    tmp=$(mktemp -d)
    bin=$tmp/bin
    mkdir -p "$bin"
    plant sbatch 'echo "$@" >>"$tmp/called"; [ -z "${REFUSE:-}" ] || exit 1
        echo "$((40 + $(wc -l <"$tmp/called")));cluster"'
    plant stepscale 'case $1 in
        merge) touch "$2" ;;
        report) [[ "$*" != *csv ]] || printf "size,step\n%s\n" "${2##*/}" ;;
        esac'
    sweep=$BATS_TEST_DIRNAME/../../slurm/sweep.sh
    export tmp STEPSCALE=$bin/stepscale PATH=$bin:$PATH
    cd "$tmp" || return 1
}

teardown() {
    rm -rf "$tmp"
}

plant() { # plant NAME BODY
    printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

@test "one job a node count, each after the last, and one after all" {
    run "$sweep" --nodes 1,4 --folder f --sbatch --exclusive --tp 2
    [ "$status" = 0 ]
    [ "$(wc -l <called)" = 3 ]
    grep -q -- "^--parsable --nodes=1 .* --exclusive .*/stepscale.sbatch --out $tmp/f/nodes-1.h5 --tp 2\$" called
    grep -q -- "^--parsable --nodes=4 .*--dependency=afterany:41 .*--out $tmp/f/nodes-4.h5 --tp 2\$" called
    grep -q -- "--dependency=afterany:41:42 .*/sweep.sh --finish $tmp/f $tmp/f/nodes-1.h5 $tmp/f/nodes-4.h5\$" called
    [[ $output == *"(number 43)"*"$tmp/f" ]]
}

@test "a dry run submits nothing" {
    run "$sweep" --nodes 1,4 --folder f --dry-run
    [ "$status" = 0 ]
    [ ! -e called ]
    [ ! -e f ]
    [[ $output == *"--dependency=afterany:1:2"* ]]
}

@test "wrong words: 2, and which" {
    for words in "" "--nodes x" "--nodes 1,,2" "--nodes 2,2" "--nodes" \
        "--nodes 1 --out x.h5"; do
        # shellcheck disable=SC2086 # words
        run "$sweep" $words
        [ "$status" = 2 ]
        [[ $output == "sweep.sh: "* ]]
    done
    mkdir f
    run "$sweep" --nodes 1 --folder f
    [ "$status" = 2 ]
}

@test "no program, or a sbatch that refuses: 12" {
    STEPSCALE=/no/such run "$sweep" --nodes 1
    [ "$status" = 12 ]
    REFUSE=1 run "$sweep" --nodes 1 --folder g
    [ "$status" = 12 ]
}

@test "the last job merges what was killed, and joins the tables" {
    mkdir -p f/b.h5.part
    touch f/a.h5
    run "$sweep" --finish f f/a.h5 f/b.h5
    [ "$status" = 0 ]
    [ -e f/b.h5 ]
    [ "$(paste -sd' ' f/all.csv)" = "size,step a.h5 b.h5" ]
    run "$sweep" --finish f f/a.h5 f/none.h5
    [ "$status" = 11 ]
    [[ $output == *"f/none.h5: no result"* ]]
}
