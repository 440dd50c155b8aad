#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slurm/drain.sh with a planted report and scontrol.

setup() {
    command -v jq >/dev/null || skip "no jq"
    tmp=$(mktemp -d)
    bin=$tmp/bin
    mkdir -p "$bin"
    plant stepscale 'cat "$2" 2>/dev/null || { echo "stepscale: no $2" >&2; exit 2; }'
    plant scontrol 'case $1 in
        show) grep "^$3 " "$tmp/states" || echo "Node $3 not found" ;;
        update) printf "%s\n" "$*" >>"$tmp/called"; exit "${CODE:-0}" ;;
        esac'
    drain=$BATS_TEST_DIRNAME/../../slurm/drain.sh
    export tmp STEPSCALE=$bin/stepscale PATH=$bin:$PATH
    cd "$tmp" || return 1
    printf 'n%s State=IDLE\n' 1 2 3 >states
    findings=$(finding slow_node error n2 1.507)
    findings+=,$(finding slow_link error n2 3)
    findings+=,$(finding straggler_rank warning n1 1.05)
    findings+=,$(finding env_drift error n3 1)
    write host
}

teardown() {
    rm -rf "$tmp"
}

plant() { # plant NAME BODY
    printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

finding() { # finding KIND SEVERITY NODE FACTOR
    printf '{"kind":"%s","severity":"%s","factor":%s,"culprit":{"node":"%s","device":null,"link":null}}' \
        "$1" "$2" "$4" "$3"
}

write() { # write ENGINE: r.h5
    printf '{"run":{"id":"54c97a3c-c5e9","engine":"%s"},"findings":[%s]}' \
        "$1" "$findings" >r.h5
}

@test "prints the nodes of error findings, and touches nothing" {
    run "$drain" r.h5
    [ "$status" = 0 ]
    [ "${lines[0]}" = "n2 stepscale 54c97a3c: slow_node, 1.51 x" ]
    [ "${lines[1]}" = "to drain: drain.sh r.h5 --run 54c97a3c-c5e9 --yes" ]
    [ ${#lines[@]} = 2 ]
    [ ! -e called ]
}

@test "with --yes and the run's id: drained, with the reason" {
    run "$drain" r.h5 --yes
    [ "$status" = 2 ]
    run "$drain" r.h5 --yes --run other
    [ "$status" = 2 ]
    [[ $output == *"of run 54c97a3c-c5e9, not of other"* ]]
    [ ! -e called ]
    run "$drain" r.h5 --yes --run 54c97a3c-c5e9
    [ "$status" = 0 ]
    [ "$(cat called)" = "update NodeName=n2 State=DRAIN Reason=stepscale 54c97a3c: slow_node, 1.51 x" ]
}

@test "drained already, unknown, or refused by Slurm" {
    echo 'n2 State=IDLE+DRAIN' >states
    run "$drain" r.h5 --yes --run 54c97a3c-c5e9
    [ "$status" = 0 ]
    [ ! -e called ]
    : >states
    run "$drain" r.h5 --yes --run 54c97a3c-c5e9
    [ "$status" = 12 ]
    echo 'n2 State=IDLE' >states
    CODE=1 run "$drain" r.h5 --yes --run 54c97a3c-c5e9
    [ "$status" = 12 ]
}

@test "planted faults drain nobody; nothing found, nothing done" {
    write null
    run "$drain" r.h5
    [ "$status" = 0 ]
    [[ $output == *"no node to drain" ]]
    STEPSCALE_DRAIN_NULL=1 run "$drain" r.h5
    [[ $output == *"n2 stepscale"* ]]
    findings=
    write host
    run "$drain" r.h5
    [ "$status" = 0 ]
    [[ $output == *"no node to drain" ]]
}

@test "no file, an unreadable one, unknown words: 2" {
    for words in "" none.h5 "r.h5 --no" "r.h5 r.h5" "r.h5 --run"; do
        # shellcheck disable=SC2086 # words
        run "$drain" $words
        [ "$status" = 2 ]
    done
    echo nonsense >r.h5
    run "$drain" r.h5
    [ "$status" = 2 ]
}
