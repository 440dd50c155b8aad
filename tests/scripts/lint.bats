#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# lint.sh must find what it is there for: a small tree with planted faults.

setup() {
    tmp=$(mktemp -d)
    top=$tmp/tree
    mkdir -p "$top/src/room" "$top/src/cluster" "$top/tests/scripts"
    cp "$BATS_TEST_DIRNAME"/{lint,tidy_one}.sh "$top/tests/scripts"
    cp "$BATS_TEST_DIRNAME"/../../.clang-{format,tidy} "$top"
    printf '/* SPDX-License-Identifier: Apache-2.0 */\nint x;\n' \
        >"$top/src/room/good.c"
    git init -q "$top"
}

teardown() {
    rm -rf "$tmp"
}

lint() {
    run "$top/tests/scripts/lint.sh" build "$@"
}

bad() { # bad NAME TEXT: a source file with one more line
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n%s\n' "$2" \
        >"$top/src/room/$1"
}

@test "a clean tree passes" {
    lint format bans complexity shell length text
    [ "$status" = 0 ]
    [[ $output != *"not ok"* ]]
}

@test "banned words are found, in comments they are not" {
    bad c.c '/* strcpy(a, b) and printf("x") */'
    lint bans
    [ "$status" = 0 ]
    for line in 'void f(void) { strcpy(a, b); }' 'void f(void) { exit(1); }' \
        'int n = sscanf(a, b);' 'void f(void) { printf("x"); }' \
        'void *p = malloc(3);' 'int c = MPI_COMM_WORLD;'; do
        bad bad.c "$line"
        lint bans
        [ "$status" = 1 ]
        [[ $output == *src/room/bad.c* ]]
    done
}

@test "what looks alike is not banned" {
    bad alike.c 'void f(void) { snprintf(a, 1, b); rt->ops->abort(rt, 1); ss_buf_printf(o, "x"); on_exit_do(); }
const char *name = "MPI_LOCALNRANKS";'
    lint bans
    [ "$status" = 0 ]
}

@test "a call may stand where it belongs" {
    mkdir -p "$top/src/report"
    printf '/* SPDX-License-Identifier: Apache-2.0 */\nvoid f(void) { printf("x"); }\n' \
        >"$top/src/report/say.c"
    lint bans
    [ "$status" = 0 ]
}

@test "format, length, blanks, licence and shell faults are found" {
    command -v clang-format >/dev/null || skip "no clang-format"
    bad form.c 'int  y ;'
    lint format
    [ "$status" = 1 ] || [[ $output == *skip* ]]
    yes 'int x;' | head -n 401 >"$top/src/room/long.c"
    lint length
    [ "$status" = 1 ]
    lint text
    [[ $output == *"long.c: no SPDX line"* ]]
    bad blank.c 'int z; '
    lint text
    [[ $output == *"blank.c"*"blank at the end"* ]]
}

@test "a function that is too complex or too long is found" {
    command -v pmccabe >/dev/null || skip "no pmccabe"
    {
        echo 'int f(int a) {'
        for i in $(seq 20); do echo "if (a == $i) return $i;"; done
        echo 'return 0; }'
    } >"$top/src/room/branches.c"
    lint complexity
    [ "$status" = 1 ]
    [[ $output == *"complexity 21"* ]]
}

@test "without compile_commands.json clang-tidy is a failure, not silence" {
    lint tidy
    [[ $output == *"configure first"* ]] || [[ $output == *skip* ]]
}
