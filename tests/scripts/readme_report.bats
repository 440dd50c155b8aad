#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The README's report is replaced, and nothing else of the page.

setup() {
    tmp=$(mktemp -d)
    mkdir -p "$tmp/tests/scripts"
    cp "$BATS_TEST_DIRNAME/readme_report.sh" "$tmp/tests/scripts"
    printf 'before\n<!-- report -->\nold\n<!-- /report -->\nafter\n' \
        >"$tmp/README.md"
}

teardown() {
    rm -rf "$tmp"
}

@test "the block is replaced, twice alike" {
    printf '2 devices: 97 %% of ideal\n\\n & 100 %%\n' >"$tmp/new"
    for _ in 1 2; do
        run "$tmp/tests/scripts/readme_report.sh" "$tmp/new"
        [ "$status" = 0 ]
    done
    want=$'before\n<!-- report -->\n```text\n2 devices: 97 % of ideal\n\\n & 100 %\n```\n<!-- /report -->\nafter'
    [ "$(cat "$tmp/README.md")" = "$want" ]
}

@test "an empty report changes nothing" {
    : >"$tmp/new"
    run "$tmp/tests/scripts/readme_report.sh" "$tmp/new"
    [ "$status" = 1 ]
    grep -q '^old$' "$tmp/README.md"
}
