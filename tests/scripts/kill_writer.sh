#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill_writer.sh SHIM WRITER READER [POINTS [STRIDE]]
# The crash proof of the store: WRITER is killed (SIGKILL) before its k-th
# write, truncate, fsync, rename or removal, for every k (or every STRIDE-th),
# through the final merge. Every point whose "renamed NNNN" line came out must
# be on disk, bit for bit as in an undisturbed run; READER, which knows what
# was planted, must find them too (each 8th time: it takes longer).
# Prints "k tried, n lost"; fails if any is lost.
set -eu
shim=$1 writer=$2 reader=$3 points=${4:-24} stride=${5:-1}
work=$(mktemp -d "${TMPDIR:-/tmp}/kill-writer-XXXXXX")
trap 'rm -rf "$work"' EXIT
# A sanitizer wants to be the first library; here the shim is.
export ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0"

mkdir "$work/whole" "$work/parts"
total=$(LD_PRELOAD=$shim SS_KILL_UNDER=$work/whole \
    "$writer" "$work/whole/a.h5" "$points" 4 merge 2>&1 >/dev/null |
    sed -n 's/^kill_shim: \([0-9]*\) calls$/\1/p')
[ -n "$total" ] || { echo "the shim does not count"; exit 1; }
"$writer" "$work/parts/a.h5" "$points" 4 >"$work/all"
"$reader" "$work/parts/a.h5" | cmp - "$work/all"
"$reader" "$work/whole/a.h5" | cmp - "$work/all"

# Names of parts that are told but not on disk as they should be.
missing() {
    [ ! -e "$1/a.h5" ] || { cmp "$work/whole/a.h5" "$1/a.h5"; return 0; }
    diff -rq "$work/parts/a.h5.part" "$1/a.h5.part" |
        grep -F "$(sed 's/renamed \(.*\)/\1.h5/' "$1.told")" || true
}
# Lines of the told that the reader does not find.
unread() {
    "$reader" "$1/a.h5" >"$1.read" 2>"$1.notes" || cat "$1.notes"
    grep -vxFf "$1.read" "$1.told" || true
}
# One k: lines on stdout only when something is lost.
try() {
    folder=$work/$1
    mkdir "$folder"
    LD_PRELOAD=$shim SS_KILL_UNDER=$folder SS_KILL_AT=$1 \
        "$writer" "$folder/a.h5" "$points" 4 merge \
        >"$folder.told" 2>/dev/null || true
    if [ -s "$folder.told" ]; then
        missing "$folder" 2>&1 | sed "s/^/k=$1 lost: /"
        [ $(($1 % 8)) -ne 0 ] || unread "$folder" | sed "s/^/k=$1 unread: /"
    fi
    rm -rf "$folder" "$folder.told" "$folder.read" "$folder.notes"
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
