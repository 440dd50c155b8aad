#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a newcomer reads first: --help of the program and of each command says
# what stands after the name, gives an example, and names only what exists.

bats_require_minimum_version 1.5.0

setup() {
    program=${SS_PROGRAM:?path of stepscale}
    commands=$("$program" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
    [ "$(wc -w <<<"$commands")" -ge 8 ]
}

@test "the program's help lists every command in a line, with examples" {
    run "$program" --help
    [ "$status" = 0 ]
    [[ ${lines[0]} == "Usage: stepscale COMMAND "* ]]
    local word
    for word in $commands; do
        [ "$word" = help ] || [[ $output == *"  "*"stepscale $word"* ]]
    done
    [ ! "$(awk 'length > 80' <<<"$output")" ]
    [ "$output" = "$("$program" help)" ]
    [ "$output" = "$("$program" -h)" ]
}

@test "a command's help: usage with operands, an example, help WORD alike" {
    local word
    for word in $commands; do
        [ "$word" != help ] || continue
        run --separate-stderr "$program" "$word" --help
        [ "$status" = 0 ] && [ ! "$stderr" ]
        [[ ${lines[0]} == "Usage: stepscale $word [OPTION...]"* ]]
        [[ $output == *"Example: "*"stepscale $word"* ]]
        [[ $output == *"--usage"* ]]
        [ "$output" = "$("$program" help "$word")" ]
        run "$program" "$word" --usage
        [ "$status" = 0 ]
        [[ $output == "Usage: stepscale $word ["* && $output == *"[--usage]"* ]]
    done
    [[ $("$program" report --help) == *" FILE"* ]]
    [[ $("$program" merge --help) == *" OUT IN..."* ]]
}

@test "every example is a command line that the program takes" {
    local word example dir=$BATS_TEST_TMPDIR
    cd "$dir"
    for word in $commands; do
        [ "$word" != help ] || continue
        example=$("$program" "$word" --help |
            sed -n 's/^Example: .*stepscale /stepscale /p')
        example=${example%%>*}
        # shellcheck disable=SC2086 # words of a command line
        run timeout 20 "$program" ${example#stepscale} --usage
        [ "$status" = 0 ]
    done
}

@test "options stand under headings, and only those that are taken" {
    run "$program" run --help
    [[ $output == *" What:"*"--model=PRESET"*" Settings:"*" Result:"*"--out"* ]]
    [[ $("$program" report --help) != *"--budget"* ]]
    [[ $("$program" probe --help) != *"--model"* ]]
}

@test "config --help lists all settings" {
    run "$program" config --help
    [[ $output == *"model.preset="* && $output == *"null.pace="* ]]
}

@test "--version names each library once, absent ones too" {
    run "$program" --version
    [ "$status" = 0 ]
    [[ ${lines[0]} == "stepscale "* ]]
    local name
    for name in engines mpi cuda nccl ucx hdf5 openblas; do
        [ "$(grep -c "^  $name: ." <<<"$output" || true)" = 1 ] || [ "$name" = engines ]
    done
    [ ! "$(sed -n 's/^  \([^:]*\):.*/\1/p' <<<"$output" | sort | uniq -d)" ]
    [[ $output =~ mpi:\ (Open\ MPI|MPICH)[^$'\n']*[0-9]\.[0-9] ]]
}

@test "help of what is no command" {
    run "$program" help rnu
    [ "$status" = 2 ]
    [[ $output == *'unknown command "rnu"; did you mean "run"?'* ]]
}

@test "a variable that is no setting is pointed out; those of the tests are not" {
    run --separate-stderr env SS_BUDGET=30s "$program" config
    [ "$status" = 0 ]
    [ "$stderr" = "environment: SS_BUDGET is no setting and has no effect; did you mean SS_MEASURE_BUDGET?" ]
    # every name that a test of this repository hands over
    local name top=$BATS_TEST_DIRNAME/..
    for name in $(grep -hoE '"SS_[A-Z_]+=' "$top"/rooms/*.cmake | tr -d '"=' | sort -u) \
        $(grep -hoE 'ENVIRONMENT SS_[A-Z_]+=' "$top"/rooms/*.cmake | sed 's/.* //; s/=//' | sort -u); do
        run --separate-stderr env "$name=1" "$program" config
        [ "$status" = 0 ] && [ ! "$stderr" ]
    done
}
