#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill_writer.sh SHIM WRITER READER [POINTS [STRIDE]]
# The crash proof of the store: WRITER is killed (SIGKILL) before its k-th
# write, truncate, fsync, rename or removal, for every k (or every STRIDE-th),
# through the final merge. Every point whose "renamed NNNN" line came out must
# be read back, bit for bit. Prints "k tried, n lost"; fails if any is lost.
set -eu
shim=$1 writer=$2 reader=$3 points=${4:-24} stride=${5:-1}
work=$(mktemp -d "${TMPDIR:-/tmp}/kill-writer-XXXXXX")
trap 'rm -rf "$work"' EXIT
# A sanitizer wants to be the first library; here the shim is.
export ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0"

mkdir "$work/whole"
total=$(LD_PRELOAD=$shim SS_KILL_UNDER=$work/whole \
    "$writer" "$work/whole/a.h5" "$points" 4 merge 2>&1 >/dev/null |
    sed -n 's/^kill_shim: \([0-9]*\) calls$/\1/p')
[ -n "$total" ] || { echo "the shim does not count"; exit 1; }

# One k: a line on stdout only when something is lost.
try() {
    k=$1 folder=$work/$1
    mkdir "$folder"
    LD_PRELOAD=$shim SS_KILL_UNDER=$folder SS_KILL_AT=$k \
        "$writer" "$folder/a.h5" "$points" 4 merge \
        >"$folder.told" 2>/dev/null || true
    if [ -s "$folder.told" ]; then
        "$reader" "$folder/a.h5" >"$folder.read" 2>/dev/null || true
        # Told means on disk; one more may be on disk and not yet told.
        while read -r line; do
            grep -qx "$line" "$folder.read" || echo "k=$k lost: $line"
        done <"$folder.told"
    fi
    rm -rf "$folder" "$folder.told" "$folder.read"
}
lane() {
    k=$1
    while [ "$k" -le "$total" ]; do
        try "$k"
        k=$((k + 2 * stride))
    done
}
lane 1 >"$work/lost1" &
lane $((1 + stride)) >"$work/lost2"
wait
cat "$work/lost1" "$work/lost2"
lost=$(cat "$work/lost1" "$work/lost2" | wc -l)
echo "$(((total + stride - 1) / stride)) of $total kill instants tried, $lost lost"
[ "$lost" -eq 0 ]
