#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/run and .ci/run count right: planted cmake, ctest and lint.

setup() {
    tmp=$(mktemp -d)
    top=$tmp/tree
    bin=$tmp/bin
    mkdir -p "$top/tests/scripts" "$top/tests/fuzz" "$top/.ci" "$top/build" \
        "$bin"
    cp "$BATS_TEST_DIRNAME/../run" "$top/tests"
    cp "$BATS_TEST_DIRNAME/../../.ci/run" "$top/.ci"
    tool "$bin/cmake" 'exit "${CMAKE_CODE:-0}"'
    tool "$bin/ctest" 'cat "$CTEST_SAYS"'
    tool "$top/tests/scripts/lint.sh" 'cat "$LINT_SAYS"'
    export CTEST_SAYS=$tmp/ctest LINT_SAYS=$tmp/lint
    cat >"$CTEST_SAYS" <<'SAYS'
Test project /x
      Start  1: a
1/4 Test  #1: a ................   Passed    0.01 sec
 2/4 Test  #2: b ................***Failed    0.02 sec
error: Passed is a word that a test may print
 3/4 Test #10: c ................***Skipped   0.00 sec
 4/4 Test #11: d ................***Timeout  60.00 sec
SAYS
    printf 'ok 1 - lint a\nnot ok 2 - lint b\nok 3 - lint c # skip no c\n' \
        >"$LINT_SAYS"
    export PATH=$bin:$PATH
}

teardown() {
    rm -rf "$tmp"
}

tool() { # tool PATH BODY
    printf '#!/bin/bash\n%s\n' "$2" >"$1"
    chmod +x "$1"
}

@test "passed, failed and skipped are counted and the failed named" {
    run "$top/tests/run" --no-install --no-fuzz
    [ "$status" = 1 ]
    [ "${lines[-1]}" = "2 passed, 3 failed, 2 skipped" ]
    [[ $output == *"  b ."* ]]
    [[ $output == *"  d ."* ]]
    [[ $output == *"  lint b"* ]]
}

@test "all passed is 0" {
    echo '1/1 Test #1: a ....   Passed    0.01 sec' >"$CTEST_SAYS"
    run "$top/tests/run" --no-install --no-fuzz --no-lint
    [ "$status" = 0 ]
    [ "${lines[-1]}" = "1 passed, 0 failed, 0 skipped" ]
}

@test "a build that fails, and a ctest that runs nothing, are failures" {
    CMAKE_CODE=1 run "$top/tests/run" --no-install
    [ "$status" = 1 ]
    [ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
    echo 'ctest: broken' >"$CTEST_SAYS"
    run "$top/tests/run" --no-install --no-fuzz --no-lint
    [ "$status" = 1 ]
    [ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
}

@test "an unknown option is refused" {
    run "$top/tests/run" --frobnicate
    [ "$status" = 2 ]
}

@test "the long tests leave a table" {
    echo ' 1/1 Test #1: long_one .....   Passed   99.01 sec' >"$CTEST_SAYS"
    run "$top/tests/run" --no-install --full long
    [ "$status" = 0 ]
    grep -q '^| long_one | Passed | 99.01 |$' "$top/build/full.md"
}

@test ".ci/run adds both runs" {
    tool "$top/tests/run" 'echo "3 passed, ${FAILED:-0} failed, 1 skipped"'
    run "$top/.ci/run"
    [ "$status" = 0 ]
    [ "${lines[-1]}" = "6 passed, 0 failed, 2 skipped" ]
    FAILED=1 run "$top/.ci/run"
    [ "$status" = 1 ]
    tool "$top/tests/run" 'echo "killed"'
    run "$top/.ci/run"
    [ "$status" = 1 ]
}
