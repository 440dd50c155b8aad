#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# launch/stepscale-mpirun with planted launchers: which line each of them gets,
# and which code comes back.

setup() {
    tmp=$(mktemp -d)
    bin=$tmp/bin
    mkdir -p "$bin"
    launcher=$BATS_TEST_DIRNAME/../../launch/stepscale-mpirun
    # the program: a code of its own for `report --check`, GPUs in its build
    plant stepscale '[ "$1" = report ] && exit "${CHECK_CODE:-0}"
        [ "$1" = --version ] && echo "  engines: host null ${ENGINES:-}"
        [ "$1" = config ] && printf "out:\n  file: \"from.h5\"\nnull:\n"
        exit 0'
    plant_mpirun 'Open MPI) 4.1.4'
    plant nvidia-smi 'exit 9'
    export PATH=$bin:/usr/bin:/bin STEPSCALE=$bin/stepscale CALLED=$tmp/called
    unset SLURM_JOB_NODELIST SLURM_JOB_ID SLURM_TASKS_PER_NODE SS_OUT_FILE
    unset "${!NCCL_@}" "${!UCX_@}" "${!OMP_@}" "${!CUDA_@}" LD_LIBRARY_PATH
    unset STEPSCALE_MPIRUN STEPSCALE_DEFAULTS
    cd "$tmp" || return 1
    printf 'n1 slots=2\nn2 slots=2\n' >hosts
}

teardown() {
    rm -rf "$tmp"
}

plant() { # plant NAME BODY
    printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# A launcher of that version: writes down its words and its host list, a line
# each, makes what a run would make, and ends as it is told to.
plant_mpirun() { # plant_mpirun VERSION [NAME]
    plant "${2:-mpirun}" "[ \"\$1\" = --version ] && echo 'mpirun ($1' && exit
        printf '%s\n' \"\$@\" >\$CALLED
        while [ \$# -gt 0 ]; do
            case \$1 in -f | --hostfile) cp \"\$2\" \$CALLED.hosts ;; esac
            shift
        done
        env >\$CALLED.env
        eval \"\${MAKES:-true}\"
        exit \${CODE:-0}"
}

called() { # the words of the launcher, joined
    paste -sd' ' "$tmp/called"
}

@test "Open MPI 4: hosts, kill timeout, keepalives, binding, variables" {
    NCCL_IB_HCA=mlx5 run "$launcher" --hostfile hosts --tp 2 --out r.h5
    [ "$status" = 0 ]
    [[ $(called) == *" -np 4 --map-by slot --bind-to none --mca odls_base_sigkill_timeout 4 --mca oob_tcp_keepalive_time "*" -x NCCL_IB_HCA "*"/bind-device $bin/stepscale run --tp 2 --out r.h5" ]]
    [ "$(paste -sd, called.hosts)" = "n1 slots=2,n2 slots=2" ]
    [[ $output == *"variables: CUDA_DEVICE_ORDER=PCI_BUS_ID"* ]]
    grep -qx CUDA_DEVICE_ORDER=PCI_BUS_ID called.env
}

@test "Open MPI 5: its own words" {
    plant_mpirun 'Open MPI) 5.0.5'
    run "$launcher" --hostfile hosts --out r.h5
    [ "$status" = 0 ]
    [[ $(called) == *" -np 4 --map-by slot --bind-to none --prtemca odls_base_sigkill_timeout 4 -x "* ]]
    [[ $(called) != *oob_tcp* ]]
}

@test "MPICH: host:n, no -x" {
    plant_mpirun 'HYDRA build details:' mpiexec
    run "$launcher" --mpirun mpiexec --hostfile hosts --out r.h5
    [ "$status" = 0 ]
    [[ $(called) == "-f "*" -n 4 -bind-to none "*"bind-device $bin/stepscale run --out r.h5" ]]
    [ "$(paste -sd, called.hosts)" = "n1:2,n2:2" ]
    grep -qx CUDA_DEVICE_ORDER=PCI_BUS_ID called.env
}

@test "MPICH takes no IPv6 address" {
    plant_mpirun 'HYDRA build details:'
    echo '[2001:db8::1]:2' >hosts
    run "$launcher" --hostfile hosts --out r.h5
    [ "$status" = 2 ]
    [[ $output == *IPv6* ]]
}

@test "an unknown launcher, or none: 12, and a sentence" {
    plant_mpirun 'Something else'
    run "$launcher" --hostfile hosts --out r.h5
    [ "$status" = 12 ]
    [[ $output == *"none of Open MPI"* ]]
    run "$launcher" --mpirun no-such --out r.h5
    [ "$status" = 12 ]
    [[ $output == *no-such* ]]
}

@test "no program: 12, and where it was looked for" {
    STEPSCALE=/no/such run "$launcher" --hostfile hosts
    [ "$status" = 12 ]
    [[ $output == *"/no/such"*STEPSCALE* ]]
}

@test "dry run: the line and the hosts, nothing started" {
    run "$launcher" --dry-run --hostfile hosts --out 'a b.h5'
    [ "$status" = 0 ]
    [[ $output == *"n2 slots=2"*"mpirun --hostfile"*'a\ b.h5'* ]]
    [ ! -e called ]
}

@test "a Slurm allocation: its nodes and tasks per node" {
    plant scontrol '[ "$1 $2 $3" = "show hostnames n[1-3]" ] && printf "n1\nn2\nn3\n"'
    SLURM_JOB_ID=1 SLURM_JOB_NODELIST='n[1-3]' SLURM_TASKS_PER_NODE='8(x2),4' \
        run "$launcher" --out r.h5
    [ "$status" = 0 ]
    [ "$(paste -sd, called.hosts)" = "n1 slots=8,n2 slots=8,n3 slots=4" ]
    [[ $(called) == *" -np 20 "* ]]
}

@test "this machine: one rank per GPU that the build can drive" {
    plant nvidia-smi 'printf "GPU 0: x\nGPU 1: x\n"'
    ENGINES=cuda run "$launcher" --out r.h5
    [[ $(called) == *" -np 2 "* ]]
    run "$launcher" --out r.h5
    [[ $(called) == *" -np 1 "* ]]
    run "$launcher" -np 3 --out r.h5
    [[ $(called) == *" -np 3 "* ]]
    [ "$(cat called.hosts)" = "localhost slots=3" ]
}

@test "ranks per host, more ranks than slots, words for mpirun" {
    run "$launcher" --hostfile hosts --per-node 8 --arg --tag-output --out r.h5
    [ "$status" = 0 ]
    [[ $(called) == *" -np 16 "*" --tag-output "* ]]
    run "$launcher" --hostfile=hosts -np 5 --out r.h5
    [ "$status" = 2 ]
    [[ $output == *"-np 5"*"4 slots"* ]]
    run "$launcher" -np x --out r.h5
    [ "$status" = 2 ]
    run "$launcher" -np
    [ "$status" = 2 ]
}

@test "a defaults file: what is set stays, what is wrong is named" {
    printf '# x\n\nNCCL_A=1\r\nNCCL_B=two words\n' >d.env
    NCCL_A=9 run "$launcher" --defaults d.env --hostfile hosts --out r.h5
    [ "$status" = 0 ]
    [[ $output == *"variables: NCCL_A=9 (was set) NCCL_B=two words"* ]]
    grep -qx 'NCCL_B=two words' called.env
    echo 'export A' >d.env
    run "$launcher" --defaults d.env --hostfile hosts --out r.h5
    [ "$status" = 2 ]
    [[ $output == *"d.env line 1"* ]]
    run "$launcher" --defaults no.env --hostfile hosts --out r.h5
    [ "$status" = 2 ]
}

@test "another command, blanks, and words that look like ours after it" {
    run "$launcher" --hostfile hosts check -np 'a b'
    [ "$status" = 0 ]
    [ "$(tail -n 3 called | paste -sd,)" = "check,-np,a b" ]
    # what measures gets a result file of its own
    run "$launcher" --hostfile hosts validate --sizes 1
    [[ $(called) == *" validate --sizes 1 --out $tmp/stepscale-"*.h5 ]]
}

@test "without --out the run gets a file of its own" {
    run "$launcher" --hostfile hosts
    [[ $(called) == *" run --out $PWD/stepscale-"*.h5 ]]
    run "$launcher" --hostfile hosts --config some.yaml
    [[ $(called) != *--out* ]]
}

# --- codes ---------------------------------------------------------------

codes() { # codes CODE MAKES: what stepscale-mpirun returns then
    rm -rf r.h5 r.h5.part
    CODE=$1 MAKES=${2:-true} run "$launcher" --hostfile hosts --out r.h5
}

@test "our codes come through" {
    for code in 0 2 10 11 12 13; do
        codes $code 'touch r.h5'
        [ "$status" = $code ]
    done
}

@test "another code with a result: the verdict in the file" {
    CHECK_CODE=10 codes 1 'touch r.h5'
    [ "$status" = 10 ]
    codes 137 'touch r.h5'
    [ "$status" = 0 ]
}

@test "another code with parts only: a rank was lost" {
    for code in 1 9 137 205; do
        codes $code 'mkdir r.h5.part'
        [ "$status" = 13 ]
    done
    [[ $output == *"report r.h5.part"* ]]
    # whoever reads the folder later hears of it
    [ "$(cat r.h5.part/last-launcher.txt)" = "rank=-1
why=launcher
phase=mpirun ended with 205" ]
}

@test "last words: 13, whatever the launcher says; not those of a stop" {
    codes 0 'mkdir r.h5.part; echo why=deadline >r.h5.part/last-3.txt'
    [ "$status" = 13 ]
    codes 11 'mkdir r.h5.part; echo why=SIGTERM >r.h5.part/last-3.txt'
    [ "$status" = 11 ]
}

@test "nothing measured: 12, and whose words to read" {
    codes 1
    [ "$status" = 12 ]
    [[ $output == *"nothing was measured"*mpirun*"with 1"* ]]
}

@test "MPICH's 11 is a signal where there is no result" {
    plant_mpirun 'HYDRA build details:'
    codes 11 'mkdir r.h5.part'
    [ "$status" = 13 ]
    codes 11 'touch r.h5'
    [ "$status" = 11 ]
}

@test "the file of an earlier run decides nothing" {
    touch r.h5
    CHECK_CODE=10 CODE=2 run "$launcher" --hostfile hosts --out r.h5
    [ "$status" = 2 ]
    CHECK_CODE=0 CODE=1 run "$launcher" --hostfile hosts --out r.h5
    [ "$status" = 13 ]
}

# --- ending it -----------------------------------------------------------

in_background() { # in_background MAKES: launcher runs, `child` is its mpirun
    MAKES="echo \$\$ >$tmp/child; $1" "$launcher" --hostfile hosts --out r.h5 \
        2>err 3>&- &
    job=$!
    for _ in {1..100}; do
        [ -s child ] && return
        sleep 0.05
    done
    return 1
}

@test "SIGTERM goes to the launcher, once, and its code comes back" {
    in_background 'trap "echo told >>told; exit 11" TERM; while :; do sleep 0.1; done'
    kill -TERM $job
    kill -TERM $job
    code=0
    wait $job || code=$?
    [ "$code" = 11 ]
    [ "$(cat told)" = told ]
}

@test "a launcher that does not end after SIGTERM is killed with its session" {
    export STEPSCALE_ORDER_LIMIT=1
    in_background 'trap "" TERM; mkdir r.h5.part; sleep 60 & wait; sleep 60'
    kill -TERM $job
    code=0
    CHECK_CODE=11 wait $job || code=$?
    [ "$code" = 0 ] # what the planted `report --check` says
    [ -z "$(pgrep -r R,S,D,T -s "$(cat child)")" ]
}

@test "a launcher that stands still after last words is killed: 13" {
    began=$SECONDS
    in_background 'trap "" TERM; mkdir r.h5.part
        echo why=deadline >r.h5.part/last-0.txt; sleep 60 & wait; sleep 60'
    code=0
    wait $job || code=$?
    [ "$code" = 13 ]
    [ $((SECONDS - began)) -le 9 ]
    [ -z "$(pgrep -r R,S,D,T -s "$(cat child)")" ]
}
