#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Bad input to the real program, alone and under mpirun: one clear sentence,
# exit code 2 or 12, nothing lost, no rank left hanging.

load ../endtoend/lib

setup() {
    e2e_setup
}
teardown() {
    e2e_teardown
}

# both CODE PATTERN ARGS...: alone and with 3 ranks.
both() {
    local code=$1 pattern=$2
    shift 2
    solo run "${small[@]}" --out r.h5 "$@"
    refused "$code" "$pattern"
    ranks 3 run "${small[@]}" --out r.h5 "$@"
    refused "$code" "$pattern"
}

# alone CODE PATTERN ARGS...: where ranks cannot differ from what `both` shows.
alone() {
    local code=$1 pattern=$2
    shift 2
    solo run "${small[@]}" --out r.h5 "$@"
    refused "$code" "$pattern"
}

# --- words -----------------------------------------------------------------

@test "unknown subcommand" {
    solo rnu
    refused 2 'unknown command "rnu"; did you mean "run"\?'
    solo repotr x.h5
    refused 2 'did you mean "report"\?'
    solo xyzzyxyzzy
    refused 2 'unknown command "xyzzyxyzzy".*--help'
}

@test "unknown subcommand under mpirun" {
    ranks 3 rnu
    refused 2 'did you mean "run"\?'
}

@test "unknown key" {
    both 2 'unknown key model.hiden; did you mean model.hidden\?' model.hiden=8
}

@test "unknown section" {
    alone 2 'unknown key mesure.seed; did you mean measure.seed\?' mesure.seed=1
}

@test "unknown option" {
    both 2 'unknown option --egine; did you mean --engine\?.*run --help' \
        --egine null
    alone 2 'unknown option --xyzzy=1; .stepscale run --help' --xyzzy=1
    alone 2 'ambiguous option --log;' --log debug
    alone 2 '--out wants a value: --out=FILE' --out
    alone 2 '--dry-run takes no value' --dry-run=yes
    alone 2 '--config wants a value' -c
    solo --hepl
    refused 2 'unknown option "--hepl"; did you mean "--help"\?'
    solo probe --engine null
    refused 2 'unknown option --engine'
}

@test "a number of ranks that is none" {
    local n
    for n in 0 -3 1.5 010 1048577 99999999999999999999 many; do
        solo plan --ranks "$n"
        refused 2 "--ranks: \"$n\" is not a whole number from 1 to 1048576"
    done
    solo plan --ranks 4 --rank -1
    refused 2 '--rank: "-1" is not a whole number from 0'
    solo plan --ranks 4 --rank 4
    refused 2 '--rank 4: the group has 4 ranks'
}

@test "unknown word" {
    both 2 '"whatever" is neither an option nor a setting' whatever
}

@test "unknown engine" {
    solo run --engine nul --out r.h5
    refused 2 'unknown engine nul; did you mean null\?'
    ranks 3 run --engine nul --out r.h5
    refused 2 'unknown engine nul; did you mean null\?'
}

@test "unknown preset" {
    alone 2 'gpt2-124.*did you mean gpt2-124m\?' model.preset=gpt2-124
}

@test "unknown environment variable of ours" {
    export SS_MODEL_HIDEN=8
    solo run "${small[@]}" --out r.h5
    refused 2 'SS_MODEL_HIDEN; did you mean SS_MODEL_HIDDEN\?'
}

# --- values ----------------------------------------------------------------

@test "wrong unit" {
    both 2 'measure.budget: "3 parsecs"' "measure.budget=3 parsecs"
    alone 2 'plan.bucket: "25q"' plan.bucket=25q
}

@test "3.5 for an integer" {
    both 2 'model.layers: "3.5"' model.layers=3.5
}

@test "010 for an integer" {
    alone 2 'model.layers: "010"' model.layers=010
}

@test "negative" {
    both 2 'model.layers: -2' model.layers=-2
    alone 2 'layout.tp: -1' --tp -1
    alone 2 'measure.budget: "?-5s' measure.budget=-5s
}

@test "overflow" {
    both 2 'model.layers: "?99999999999999999999' \
        model.layers=99999999999999999999
    alone 2 'measure.budget: "?99999999999999999999h' \
        measure.budget=99999999999999999999h
    alone 2 'null.gemm_ms: "?1e999' null.gemm_ms=1e999
}

@test "nothing where a value belongs" {
    alone 2 'model.layers: ""' model.layers=
}

# --- YAML ------------------------------------------------------------------

@test "empty YAML" {
    : >empty.yaml
    both 2 'empty.yaml: the file is empty' --config empty.yaml
}

@test "binary YAML" {
    head -c 4096 "$program" >binary.yaml
    both 2 'binary.yaml' --config binary.yaml
}

@test "10 MB YAML" {
    yes 'model: {layers: 1}' | head -c 10000000 >large.yaml
    both 2 'large.yaml is larger than' --config large.yaml
}

@test "missing YAML" {
    both 2 'cannot open none.yaml: No such file' --config none.yaml
}

@test "missing rules and model files" {
    both 2 'cannot open none.yaml: No such file' rules.file=none.yaml
    both 2 'cannot open none.json: No such file' model.file=none.json
    solo config --config none.yaml
    refused 2 'cannot open none.yaml: No such file'
    solo plan model.file=none.json
    refused 2 'cannot open none.json: No such file'
}

@test "two keys alike" {
    printf 'model:\n  layers: 2\n  layers: 3\n' >twice.yaml
    alone 2 'twice.yaml.*model.layers' --config twice.yaml
}

@test "all problems of a configuration are reported together" {
    cat >wrong.yaml <<'YAML'
model:
  hiden: 4096
  layers: 3.5
layout:
  tp: -2
YAML
    export SS_MEASURE_SED=1
    ranks 3 run "${small[@]}" --config wrong.yaml --out r.h5 \
        model.tokens=010 measure.budget=3x
    refused 2 'model.hiden.*5 more problems'
    for key in model.hiden model.layers layout.tp SS_MEASURE_SED model.tokens \
        measure.budget; do
        [[ $stderr == *$key* ]] || fail "$key is not reported"
    done
    [[ $stderr == *wrong.yaml:2* ]] || fail "no line number"
    (($(grep -c 'model.layers' <<<"$stderr") == 1)) || fail "said twice"
}

# --- sizes, layouts, models ------------------------------------------------

@test "sizes above the world" {
    both 2 '8 .*above the world of [13] rank' --sizes 1,8
}

@test "sizes that are no multiple of the layout" {
    ranks 4 run "${small[@]}" --tp 2 --sizes 2,3 --out r.h5
    refused 2 '3 .*not a multiple of the layout.s 2 ranks'
}

@test "a layout above the world" {
    both 2 'the layout needs 16 ranks, the world has [13]' --tp 16
}

@test "dp * tp is not the size" {
    ranks 4 run "${small[@]}" --tp 2 --dp 3 --sizes 4 --out r.h5
    refused 2 'layout.dp 3 x 2 .*does not give the size 4'
}

@test "hidden is not divisible by tp" {
    ranks 3 run "${small[@]}" --tp 3 --out r.h5
    refused 2 'does not divide by tp 3'
    ranks 3 run "${small[@]}" --engine host --tp 3 --out r.h5
    refused 2 'does not divide by tp 3'
}

@test "a model that does not fit in memory" {
    solo run --engine host model.preset=llama-405b model.tokens=512 \
        --out r.h5
    refused 12 'needs [0-9.]+ [GT]i?B of memory .* [0-9.]+ [MGT]i?B are avail'
    ranks 3 run --engine host model.preset=llama-405b model.tokens=512 \
        --out r.h5
    refused 12 'size [13] needs [0-9.]+ [GT]B of memory per rank'
}

@test "little address space: no library waits for more of it for ever" {
    run bash -c 'ulimit -v 200000; timeout 30 "$SS_PROGRAM" config'
    [[ $status != 124 ]] || fail "did not end"
    [[ $status == 0 ]] || skip "this build does not even start in 200 MB"
}

# --- ranks that differ -----------------------------------------------------

@test "different binaries on different ranks" {
    cp "$program" other
    printf x >>other
    command_limited "$mpirun" 2 "$program" run "${small[@]}" --out r.h5 : \
        -np 1 ./other run "${small[@]}" --out r.h5
    refused 2 'rank 2 on [^ ]+: another stepscale binary'
}

@test "different configurations on different ranks" {
    command_limited "$mpirun" 2 "$program" run "${small[@]}" --out r.h5 : \
        -np 1 -x SS_MEASURE_SEED=7 "$program" run "${small[@]}" --out r.h5
    refused 2 'rank 2 on [^ ]+: another configuration'
}

@test "a bad value on one rank only" {
    command_limited "$mpirun" 2 "$program" run "${small[@]}" --out r.h5 : \
        -np 1 -x SS_MEASURE_SEED=x "$program" run "${small[@]}" --out r.h5
    refused 2 'rank 2 on [^ ]+: .*SS_MEASURE_SEED'
}

@test "different command lines on different ranks" {
    command_limited "$mpirun" 2 "$program" run "${small[@]}" --out r.h5 : \
        -np 1 "$program" run "${small[@]}" --out r.h5 measure.seed=7
    refused 2 'rank 2 on [^ ]+: another configuration'
    echo 'measure: {seed: 1}' >one.yaml
    for option in --dry-run --help "--config one.yaml" "--engine host"; do
        # shellcheck disable=SC2086 # option and value
        command_limited "$mpirun" 2 "$program" run "${small[@]}" --out r.h5 \
            : -np 1 "$program" run "${small[@]}" --out r.h5 $option
        refused 2 'rank 2 on [^ ]+: another --config, --engine, '
    done
}

@test "world size 1 while the launcher started several" {
    export SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0
    solo run "${small[@]}" --out r.h5
    refused 12 'srun started 4 tasks.*srun --mpi=pmix'
    unset SLURM_STEP_ID SLURM_STEP_NUM_TASKS
    PMI_SIZE=2 solo run "${small[@]}" --out r.h5
    refused 12 'started 2 tasks.*srun --mpi=pmix'
}

# --- output ----------------------------------------------------------------

@test "output folder missing" {
    both 12 'no/such.*no such file or directory.*--out' --out no/such/r.h5
}

@test "output below a file" {
    : >file
    alone 12 'file/r.h5.*not a directory' --out file/r.h5
}

@test "output folder not writable" {
    mkdir locked
    [[ $EUID == 0 ]] || skip "needs root for a read-only mount"
    mount --bind locked locked && mount -o remount,bind,ro locked ||
        skip "mounts are not allowed here"
    both 12 'locked.*read-only file system.*--out' --out locked/r.h5
}

@test "output folder full" {
    [[ $EUID == 0 ]] || skip "needs root for a tmpfs"
    mkdir full
    mount -t tmpfs -o size=3m tmpfs full || skip "mounts are not allowed here"
    for kept in 0 8192 16384; do # nothing, the folder, half of a file
        head -c $((3 * 1024 * 1024 - kept)) /dev/zero >full/ballast || true
        both 12 'full/r.h5.part.*no space left on device' --out full/r.h5
        rm -rf full/r.h5.part
    done
}

@test "output folder fills up between points" {
    [[ $EUID == 0 ]] || skip "needs root for a tmpfs"
    mkdir full
    mount -t tmpfs -o size=3m tmpfs full || skip "mounts are not allowed here"
    # enough steps that a few points fill 3 MB
    ranks 4 run "${small[@]}" --out full/r.h5 null.noise=0.2 \
        measure.min_steps=4000 measure.min_blocks=12 measure.max_blocks=12 \
        measure.sample_every=2 measure.budget=10h groups.mode=both
    ((status == 12)) || fail "exit code is not 12"
    (($(grep -c "no space left on device" <<<"$stderr") == 1)) ||
        fail "the cause is not said once"
    nothing_runs
    [[ -s full/r.h5.part/0000.h5 ]] || fail "the finished parts are gone"
    finished=$(find full/r.h5.part -name '0*[1-9].h5' | wc -l)
    ((finished > 0)) || fail "choose a test that writes a point before"
    solo report full/r.h5.part --format json
    ((status == 0)) || fail "finished points are not readable"
    points=$(/usr/bin/python3 -c \
        'import json,sys; print(len(json.load(sys.stdin)["points"]))' \
        <<<"$output")
    ((points == finished)) || fail "$points points of $finished"
}

@test "the output exists" {
    echo precious >r.h5
    ranks 3 run "${small[@]}" --out r.h5
    refused 2 'r.h5 already exists.*--out' keep
    [[ $(<r.h5) == precious && ! -e r.h5.part ]] || fail "touched"
    solo run "${small[@]}" --out r.h5
    refused 2 'r.h5 already exists.*--out' keep
    [[ $(<r.h5) == precious ]] || fail "touched"
}

@test "the .part folder of an earlier run exists" {
    mkdir r.h5.part
    echo precious >r.h5.part/0001.h5
    ranks 3 run "${small[@]}" --out r.h5
    refused 2 'r.h5.part.*--resume.*merge' keep
    [[ $(<r.h5.part/0001.h5) == precious ]] || fail "touched"
    [[ $(ls r.h5.part) == 0001.h5 ]] || fail "touched"
}
