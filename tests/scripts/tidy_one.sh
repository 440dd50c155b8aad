#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tidy_one.sh FILE SALT BUILD: clang-tidy's words on one file, kept under
# BUILD/tidy-cache by the content of the file and the salt (which stands for
# all headers and the checks), so that a second run costs nothing.
set -u
file=$1 salt=$2 build=$3
key=$({
    cat "$file"
    echo "$file $salt"
} | sha256sum | cut -c1-40)
answer=$build/tidy-cache/$key
if [ ! -e "$answer" ]; then
    mkdir -p "$build/tidy-cache"
    said=$(clang-tidy --quiet -p "$build" "$file" 2>&1)
    ended=$?
    # what it finds inside a library's header is not ours to mend
    echo "$said" | grep -E '(error|warning):' | grep -v '^/usr/' >"$answer.$$"
    if [ $ended -ne 0 ] && ! echo "$said" | grep -q 'error:'; then
        echo "$file: error: clang-tidy ended with $ended"
        rm -f "$answer.$$"
        exit 0
    fi
    mv "$answer.$$" "$answer"
fi
cat "$answer"
