# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # bats files use and set them
# What the end-to-end bats files share: run the real program, alone or under
# mpirun, with a limit that only a hang meets, and look for what it left.
# SS_PROGRAM is the program.

bats_require_minimum_version 1.5.0
mpirun=$BATS_TEST_DIRNAME/../support/mpirun
limit=${E2E_LIMIT:-20}

e2e_setup() {
    work="" mark=""
    program=${SS_PROGRAM:?path of stepscale}
    work=$(mktemp -d "${TMPDIR:-/tmp}/ss-e2e-XXXXXX")
    mark=e2e-$$-$RANDOM$RANDOM
    cd "$work" || return 1
}

# Also when a test failed: nothing of it may live on. Without a folder of its
# own (setup failed) it must touch nothing.
e2e_teardown() {
    local pid place
    [[ -n ${work:-} && -n ${mark:-} && -d $work ]] || return 0
    for pid in $(marked); do kill -9 "$pid" 2>/dev/null || true; done
    cd /
    for place in "$work"/locked "$work"/full; do # all that a test mounts
        ! mountpoint -q "$place" || umount "$place"
    done
    rm -rf --one-file-system "$work"
}

# Processes of this test: they have its mark in their environment.
marked() {
    grep -lsz "^E2E_MARK=$mark\$" /proc/[0-9]*/environ | tr -cd '0-9\n'
}

# The small and quick job of these tests: null engine, one layer.
small=(--engine null model.layers=1 model.hidden=256 model.tokens=512
    scaling.min_tokens=1 null.gemm_ms=1 measure.min_block=0ms
    measure.min_blocks=2 measure.max_blocks=4)

# command CMD...: as `run`, marked and limited; sets status, output, stderr.
command_limited() {
    run --separate-stderr env E2E_MARK="$mark" timeout -k 2 "$limit" "$@"
}
solo() {
    command_limited "$program" "$@"
}
ranks() {
    local np=$1
    shift
    command_limited "$mpirun" "$np" "$program" "$@"
}

show() {
    printf 'status %s\nstdout:\n%s\nstderr:\n%s\n' "$status" "$output" \
        "$stderr"
    printf 'files: %s\n' "$(find "$work" -mindepth 1 | head -20 | paste -sd' ')"
}
fail() {
    echo "failed: $*"
    show
    return 1
}

# refused CODE PATTERN: that code, one sentence of ours that matches the
# pattern, no process left, nothing of a result left (unless "keep").
refused() {
    local said
    ((status == $1)) || fail "exit code is not $1"
    said=$(grep -c '^stepscale: ' <<<"$stderr")
    ((said == 1)) || fail "$said sentences of ours instead of one"
    grep '^stepscale: ' <<<"$stderr" | grep -Eq -- "$2" ||
        fail "the sentence does not match: $2"
    [[ $output$stderr != *SIGSEGV* && $output$stderr != *AddressSan* ]] ||
        fail "a crash"
    nothing_runs
    [[ ${3:-} == keep ]] || nothing_left
}
nothing_runs() {
    local i left=""
    for ((i = 0; i < 20; i++)); do # orted may need a moment to end
        left=$(marked)
        [[ $left ]] || return 0
        sleep 0.1
    done
    ps -fp "$(paste -sd, <<<"$left")" || true
    fail "processes remain"
}
nothing_left() {
    local left
    left=$(find "$work" \( -name '*.h5' -o -name '*.part' -o -name '*.tmp' \))
    [[ ! $left ]] || fail "left behind: $left"
}
