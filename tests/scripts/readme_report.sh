#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# readme_report.sh FILE: puts the text report in FILE (what `stepscale report`
# printed of a real run; - for stdin) into README.md, between <!-- report -->
# and <!-- /report -->.
set -u
page=$(dirname "$0")/../../README.md
if [ $# -ne 1 ]; then
    echo "usage: readme_report.sh FILE" >&2
    exit 2
fi
text=$(cat "$1") || exit 1
if [ -z "$text" ]; then
    echo "readme_report.sh: $1 is empty" >&2
    exit 1
fi
new=$(mktemp) || exit 2
trap 'rm -f "$new"' EXIT
TEXT=$text awk '
    $0 == "<!-- /report -->" { inside = 0 }
    !inside { print }
    $0 == "<!-- report -->" {
        inside = 1
        print "```text"
        print ENVIRON["TEXT"]
        print "```"
    }' "$page" >"$new" && cat "$new" >"$page"
