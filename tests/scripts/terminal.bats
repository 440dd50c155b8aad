#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the main job says while it runs: one line that renews itself on a
# terminal, no control characters anywhere else, and stdout for results only.

load ../endtoend/lib

setup() {
    e2e_setup
}
teardown() {
    e2e_teardown
}

@test "one progress line on a terminal, gone at the end" {
    command -v script >/dev/null || skip "no script(1)"
    printf -v line '%q ' env E2E_MARK="$mark" "$program" run "${small[@]}" \
        --out r.h5 out.format=none
    timeout 20 script -qec "$line" screen </dev/null >/dev/null
    /usr/bin/python3 - <<'PY'
import re
text = open("screen", newline="").read()
erase = "\r\033[K"
seen = re.findall(r"\r\033\[Kpoint (\d+) of 2\b[^\r\n]*", text)
once = [at for i, at in enumerate(seen) if i == 0 or at != seen[i - 1]]
assert once == ["1", "2"], (seen, text)
# each is erased by the next, or by the end; none becomes a line of the log
assert not re.search(r"point \d+ of 2\b[^\r]*\n", text), text
last = text.rindex("point 2 of 2")
assert text.find(erase, last) > 0, text
rest = text.replace(erase, "")
assert "\033" not in rest, text
PY
    nothing_runs
}

@test "no control characters where there is no terminal" {
    solo run "${small[@]}" --out a.h5
    ((status == 0 || status == 11)) || fail "exit code"
    [[ $output$stderr != *[$'\r\033\b']* ]] || fail "control characters"
    ranks 3 run "${small[@]}" --out b.h5
    [[ $output$stderr != *[$'\r\033\b']* ]] || fail "control characters"
    nothing_runs
}

@test "where there is no terminal, a long run still shows life" {
    ranks 2 run "${small[@]}" --out r.h5 null.pace=1 null.gemm_ms=20 \
        scaling.modes=weak scaling.sizes=2 null.noise=0.2 --budget 13s \
        measure.precision=0.0001 measure.max_blocks=100000
    grep -Eq '^point 1 of 1: weak, 2 ranks; [0-9.]+ s of at most 13 s$' \
        <<<"$stderr" || fail "no line"
    [[ $stderr != *[$'\r\033\b']* ]] || fail "control characters"
    ((status == 0 || status == 11)) || fail "exit code"
    nothing_runs
}

@test "stdout carries the result and nothing else" {
    ranks 3 run "${small[@]}" --out r.h5 --format json
    /usr/bin/python3 -m json.tool <<<"$output" >/dev/null || fail "no JSON"
    [[ $stderr == *"result: r.h5"* ]] || fail "the file is not named"
    nothing_runs
}

@test "a closed stdout is an error, not a success" {
    run --separate-stderr bash -c '"$0" run "$@" --out r.h5 >/dev/full' \
        "$program" "${small[@]}"
    ((status == 12)) || fail "exit code is not 12"
    [[ $stderr == *"cannot write the report"* ]] || fail "no sentence"
    [[ -s r.h5 || -s r.h5.part/0002.h5 ]] || fail "the result is lost"
}
