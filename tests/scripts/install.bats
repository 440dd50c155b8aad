#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The installed tree works wherever it is moved. SS_BUILD: the build folder.

setup() {
    tmp=$(mktemp -d)
}

teardown() {
    rm -rf "$tmp"
}

@test "a moved copy runs and has its batch files" {
    cmake --install "$SS_BUILD" --prefix "$tmp/here" >/dev/null
    mv "$tmp/here" "$tmp/there"
    run env -u LD_LIBRARY_PATH "$tmp/there/bin/stepscale" --version
    [ "$status" = 0 ]
    [[ $output == stepscale* ]]
    [ -e "$tmp/there/share/stepscale/slurm/stepscale.sbatch" ]
    [ -x "$tmp/there/share/stepscale/launch/quickstart" ]
    local page
    for page in README.md LICENSE CHANGELOG.md results/README.md; do
        cmp "$tmp/there/share/doc/stepscale/$page" "$BATS_TEST_DIRNAME/../../$page"
    done
    run "$tmp/there/share/stepscale/launch/quickstart" --dry-run
    [ "$status" = 2 ]
    [[ $output == *"installed already"* ]]
}

@test "nothing in the copy points to the build folder" {
    cmake --install "$SS_BUILD" --prefix "$tmp/here" >/dev/null
    run readelf -d "$tmp/here/bin/stepscale"
    [[ $output != *"$SS_BUILD"* ]]
}
