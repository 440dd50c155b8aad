#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files and folders that `report` and `merge` cannot read: one clear sentence,
# exit code 2, nothing printed, nothing changed, never a crash.

load ../endtoend/lib

setup() {
    e2e_setup
}
teardown() {
    e2e_teardown
}

# A real result, once a file.
a_result() {
    solo run "${small[@]}" --out good.h5 out.format=none
    ((status == 0)) || fail "cannot make a result"
}

# unreadable FILE PATTERN: report, merge and a check of the verdict refuse it.
unreadable() {
    local before
    before=$(md5sum "$1" 2>/dev/null || true)
    solo report "$1"
    refused 2 "$2" keep
    [[ ! $output ]] || fail "printed something"
    solo report "$1" --format json --check
    refused 2 "$2" keep
    solo merge out.h5 "$1"
    refused 2 "$2" keep
    [[ ! -e out.h5 && ! -e out.h5.tmp ]] || fail "merged something"
    [[ $(md5sum "$1" 2>/dev/null || true) == "$before" ]] || fail "changed"
}

@test "report on nothing, on a folder, on an empty file, on a text" {
    unreadable none.h5 'there is no file none.h5'
    mkdir folder
    unreadable folder 'hold.* 0000.h5'
    : >empty.h5
    unreadable empty.h5 'empty.h5 is empty'
    echo hello >text.h5
    unreadable text.h5 'text.h5 is not an HDF5 file'
    solo report
    refused 2 'report wants one result file' keep
}

@test "report on a truncated file" {
    a_result
    size=$(stat -c %s good.h5)
    for keep in 100 $((size / 2)) $((size - 1)); do
        head -c "$keep" good.h5 >cut.h5
        unreadable cut.h5 'cut.h5'
    done
}

@test "report on a damaged file never crashes" {
    a_result
    /usr/bin/python3 - <<'PY'
import random
data = open("good.h5", "rb").read()
random.seed(7)
for i in range(20):
    copy = bytearray(data)
    for _ in range(30):
        copy[random.randrange(len(copy))] = random.randrange(256)
    open(f"bad{i}.h5", "wb").write(copy)
PY
    for file in bad*.h5; do
        solo report "$file" --format json
        case $status in
        0) /usr/bin/python3 -m json.tool <<<"$output" >/dev/null ||
            fail "no JSON" ;;
        2) refused 2 "$file" keep ;;
        *) fail "$file" ;;
        esac
    done
}

@test "report on a file of another program" {
    /usr/bin/python3 -c 'import h5py
h5py.File("other.h5", "w")["x"] = [1, 2, 3]'
    unreadable other.h5 'other.h5 is an HDF5 file of another program'
}

@test "report on a file of a newer schema" {
    a_result
    /usr/bin/python3 - <<'PY'
import h5py
with h5py.File("good.h5", "r+") as f:
    f.attrs.modify("schema", 999)
PY
    mv good.h5 new.h5
    unreadable new.h5 'newer stepscale: schema 999'
}

@test "report on a file that it cannot open" {
    a_result
    ln -s loop.h5 loop.h5
    unreadable loop.h5 'loop.h5'
}

@test "report on a folder that was merged names the file" {
    "${SS_WRITE_PARTS:?}" x.h5 3 >/dev/null
    solo merge x.h5 x.h5.part
    ((status == 0)) || fail "exit code"
    [[ $output == "x.h5 holds 3 of 3 points; removed x.h5.part" ]] ||
        fail "not said what was written"
    solo report x.h5.part
    refused 2 'there is no folder x.h5.part any more: its run is in x.h5' keep
    solo report x.h5.part/
    refused 2 'its run is in x.h5' keep
    echo text >y.h5
    solo report y.h5.part
    refused 2 'there is no file y.h5.part' keep
}

@test "a folder with one damaged part still gives the others" {
    "${SS_WRITE_PARTS:?}" y.h5 3 >/dev/null
    truncate -s 3000 y.h5.part/0002.h5
    solo report y.h5.part --format json
    ((status == 0)) || fail "exit code"
    [[ $stderr == *0002.h5* ]] || fail "the damaged part is not named"
    points=$(/usr/bin/python3 -c \
        'import json,sys; print(len(json.load(sys.stdin)["points"]))' \
        <<<"$output")
    ((points == 2)) || fail "$points points"
}
