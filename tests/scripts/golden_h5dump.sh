#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# golden_h5dump.sh WRITE_PARTS GOLDEN: the layout of a result, as h5dump shows
# it, is the committed one. SS_UPDATE_GOLDEN=1 writes it anew: then raise the
# version of the schema, or know why not.
set -eu
writer=$1 golden=$2
command -v h5dump >/dev/null || { echo "skipped: no h5dump"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/golden-XXXXXX")
trap 'rm -rf "$work"' EXIT
"$writer" "$work/a.h5" 1 2 merge >"$work/told"
(cd "$work" && h5dump -H -A 0 a.h5) >"$work/layout"
if [ -n "${SS_UPDATE_GOLDEN:-}" ]; then
    cp "$work/layout" "$golden"
fi
diff -u "$golden" "$work/layout"
