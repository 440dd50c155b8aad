#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# slurm/health.sh with a planted check: codes of Nagios, the prolog, draining.

setup() {
    tmp=$(mktemp -d)
    mkdir "$tmp/bin"
    plant stepscale '[ "$*" = "check --local" ] && echo "$SAYS"; exit 10'
    plant scontrol 'echo "$@" >>"$tmp/called"'
    health=$BATS_TEST_DIRNAME/../../slurm/health.sh
    export tmp STEPSCALE=$tmp/bin/stepscale PATH=$tmp/bin:$PATH
    export SLURMD_NODENAME=n7
    unset SLURM_SCRIPT_CONTEXT
}

teardown() {
    rm -rf "$tmp"
}

plant() { # plant NAME BODY
    printf '#!/bin/bash\n%s\n' "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

says() { # says TEXT CODE
    SAYS=$1 run "$health"
    [ "$status" = "$2" ] && [ "$output" = "$1" ]
}

@test "the codes of Nagios" {
    says "OK: fine" 0
    says "WARNING: so so" 1
    says "CRITICAL: port mlx5_0/1 is DOWN" 2
    says "stepscale: nonsense" 3
    STEPSCALE=/no/such run "$health"
    [ "$status" = 3 ]
    run "$health" --what
    [ "$status" = 3 ]
}

@test "a prolog fails for what is critical only" {
    export SLURM_SCRIPT_CONTEXT=prolog_slurmd
    says "WARNING: so so" 0
    says "stepscale: nonsense" 0
    says "CRITICAL: port mlx5_0/1 is DOWN" 2
}

@test "--drain drains this node for what is critical only" {
    SAYS="WARNING: so so" run "$health" --drain
    [ ! -e "$tmp/called" ]
    SAYS=$'CRITICAL: port x is DOWN\n  more' run "$health" --drain
    [ "$status" = 2 ]
    [ "$(cat "$tmp/called")" = "update NodeName=n7 State=DRAIN Reason=stepscale: port x is DOWN" ]
}

@test "the real check speaks that way" {
    [ -n "${SS_PROGRAM:-}" ] || skip "no program"
    STEPSCALE=$SS_PROGRAM run "$health"
    [ "$status" -le 2 ]
    [[ ${lines[0]} =~ ^(OK|WARNING|CRITICAL):\  ]]
    run "$SS_PROGRAM" check
    [ "$status" = 2 ]
}
