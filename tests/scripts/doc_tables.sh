#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# doc_tables.sh PROGRAM [--write]: compares the tables of results/README.md,
# between <!-- NAME --> and <!-- /NAME -->, with what PROGRAM (doc_tables) says;
# --write puts them there.
set -u
program=$1
page=$(dirname "$0")/../../results/README.md
new=$(mktemp) || exit 2
trap 'rm -f "$new" "$new.block"' EXIT
cp "$page" "$new"
for name in schema config; do
    "$program" $name >"$new.block" || exit 1
    # awk reads the block and puts it between the marks
    awk -v name=$name -v block="$new.block" '
        $0 == "<!-- /" name " -->" { inside = 0 }
        !inside { print }
        $0 == "<!-- " name " -->" {
            inside = 1
            print ""
            while ((getline line < block) > 0) print line
            if (line != "") print ""
        }' "$new" >"$new.page" && mv "$new.page" "$new"
done
for kind in $("$program" kinds); do
    grep -q "^| \`$kind\` |" "$page" || {
        echo "results/README.md: finding kind $kind is not in its table" >&2
        exit 1
    }
done
if [ "${2:-}" = --write ]; then
    cp "$new" "$page"
elif ! diff -u "$page" "$new"; then
    echo "results/README.md is out of date: doc_tables.sh $program --write" >&2
    exit 1
fi
