#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# launch/read-hosts: host files as people write them.

setup() {
    tmp=$(mktemp -d)
    reader=$BATS_TEST_DIRNAME/../../launch/read-hosts
}

teardown() {
    rm -rf "$tmp"
}

hosts() { # hosts TEXT [DEFAULT]: what is read, as one line
    printf '%b' "$1" >"$tmp/hosts"
    run "$reader" "$tmp/hosts" "${2:-1}"
    output=$(paste -sd, <<<"$output")
}

reads() { # reads TEXT EXPECTED [DEFAULT]
    hosts "$1" "${3:-}"
    if [ "$status" != 0 ] || [ "$output" != "$2" ]; then
        echo "$1 -> $status $output"
        return 1
    fi
}

refuses() { # refuses TEXT PATTERN
    hosts "$1"
    if [ "$status" != 2 ] || [[ $output != "stepscale-mpirun: "*$2* ]]; then
        echo "$1 -> $status $output"
        return 1
    fi
}

@test "slots, as each launcher writes them" {
    reads 'a slots=8\nb:4\nc cpu=2\nd count=3\n' 'a 8,b 4,c 2,d 3'
    reads 'a slots = 8 max_slots=16\n' 'a 8'
    reads 'a SLOTS=8 max-slots=16\n' 'a 8'
    reads 'a\n' 'a 1'
    reads 'a\nb slots=2' 'a 8,b 2' 8
    reads 'a max_slots=4' 'a 4' 8
}

@test "comments, empty lines, CRLF, a byte order mark, no newline at the end" {
    reads '# x\n\n  a slots=2 # y\r\nb\r\n\t\r\nc' 'a 2,b 1,c 1'
    reads '\0357\0273\0277a slots=2\n' 'a 2'
}

@test "ranges" {
    reads 'n[01-03,7] slots=2' 'n01 2,n02 2,n03 2,n7 2'
    reads 'r[1-2]n[1-2]-ib:4' 'r1n1-ib 4,r1n2-ib 4,r2n1-ib 4,r2n2-ib 4'
    reads 'n[8-11]' 'n8 1,n9 1,n10 1,n11 1'
}

@test "addresses" {
    reads '10.0.0.1:8\n10.0.0.2' '10.0.0.1 8,10.0.0.2 1'
    reads '2001:db8::1\n[2001:db8::2]:8\n::1 slots=2' \
        '2001:db8::1 1,2001:db8::2 8,::1 2'
    reads 'fe80::1%eth0 slots=2' 'fe80::1%eth0 2'
    reads 'abc:8\nfade:4' 'abc 8,fade 4'
}

@test "a host N times is N slots; a number makes it a mistake" {
    reads 'a\na\nb\na\n' 'a 3,b 1'
    refuses 'a slots=2\na slots=2' 'line 2: host a stands in line 1'
    refuses 'a\na slots=2' 'stands in line 1'
    refuses 'n[1-3]:2\nn2' 'host n2 stands in line 1'
}

@test "what is not understood is named" {
    refuses 'a slots=x' 'slots= wants a number'
    refuses 'a slots=0' 'slots= wants a number'
    refuses 'a:' 'wants a number'
    refuses ':8' 'no host before'
    refuses 'a:4 slots=4' 'two numbers'
    refuses 'a slots=8 max_slots=4' '8 slots and max_slots=4'
    refuses 'a, b' '"b" is not understood'
    refuses 'a user=x' '"user=x" is not understood'
    refuses 'n[3-1]' 'backwards'
    refuses 'n[1-' 'no ]'
    refuses 'n1]' 'no ['
    refuses 'n[]' 'empty range'
    refuses 'n[a-b]' 'not a number or a range'
    refuses 'n[1-999999]' 'too long'
    refuses '-x' 'not the name'
    refuses 'a;rm slots=1' 'not the name'
    refuses '\x01\x02' 'not the name'
}

@test "an empty file, a missing one, a folder" {
    refuses '# nothing\n' 'names no host'
    run "$reader" "$tmp/none"
    [ "$status" = 2 ]
    run "$reader" "$tmp"
    [ "$status" = 2 ]
}

@test "random bytes: hosts or a sentence, never anything else" {
    signs=$' -:=#[],\nslot'
    for _ in {1..60}; do
        head -c 80 /dev/urandom >"$tmp/hosts"
        run timeout 5 "$reader" "$tmp/hosts"
        [ "$status" = 0 ] || [ "$status" = 2 ]
        LC_ALL=C tr -dc "$signs" </dev/urandom | head -c 80 \
            >"$tmp/hosts"
        run timeout 5 "$reader" "$tmp/hosts"
        [ "$status" = 0 ] || [ "$status" = 2 ]
    done
}
