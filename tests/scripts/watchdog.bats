#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hung jobs under mpirun: they end with 13, soon, and name the culprit.
# SS_PROGRAM is watchdog_program.

setup() {
    mpirun=$BATS_TEST_DIRNAME/../support/mpirun
    folder=$(mktemp -d)
}

teardown() {
    rm -rf "$folder"
}

# hang MODE [DIR]: the job under a limit that is only met by a failure.
hang() {
    SECONDS=0
    run timeout 30 "$mpirun" 4 "$SS_PROGRAM" "$@"
}

@test "a job that does not hang ends with 0" {
    hang fine "$folder"
    [ "$status" -eq 0 ]
    [ -z "$(ls "$folder")" ]
}

@test "a rank that never enters is named" {
    hang late "$folder"
    [ "$status" -eq 13 ]
    [ "$SECONDS" -lt 10 ]
    [[ $output == *"the job hangs: rank 2 on "*" is computing (barrier) while 3 of 4 ranks wait in "* ]]
    [ "$(grep -c "the job hangs" <<<"$output")" -eq 1 ]
    grep -qx "in_collective=0" "$folder/last-2.txt"
    grep -qx "in_collective=1" "$folder/last-3.txt"
}

@test "a rank without a deadline is asked, and named" {
    hang idle "$folder"
    [ "$status" -eq 13 ]
    [ "$SECONDS" -lt 10 ]
    [[ $output == *"the job hangs: rank 2 on "*" is computing (start) while 3 of 4 ranks wait in "* ]]
    grep -qx "why=asked" "$folder/last-2.txt"
}

@test "a rank without words is lost" {
    hang lost "$folder"
    [ "$status" -eq 13 ]
    [ "$SECONDS" -lt 10 ]
    [[ $output == *"the job hangs: rank 2 is lost"* ]]
    [ ! -e "$folder/last-2.txt" ]
}

@test "without a folder the job still ends" {
    hang late
    [ "$status" -eq 13 ]
    [ "$SECONDS" -lt 10 ]
    [[ $output == *"last words of rank 2 on "* ]]
}
