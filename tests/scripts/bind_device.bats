#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# launch/bind-device over planted sysfs trees.

setup() {
    tmp=$(mktemp -d)
    bind=$BATS_TEST_DIRNAME/../../launch/bind-device
    for card in 0 1; do
        mkdir -p "$tmp/bus/pci/drivers/nvidia/0000:0$card:00.0"
        echo "$card" >"$tmp/bus/pci/drivers/nvidia/0000:0$card:00.0/local_cpulist"
    done
    mkdir -p "$tmp/bin"
    printf '#!/bin/bash\n[ "$3" = true ] && exit "${OURS:-0}"\necho "$@"\n' \
        >"$tmp/bin/taskset"
    chmod +x "$tmp/bin/taskset"
    export STEPSCALE_SYS=$tmp PATH=$tmp/bin:$PATH CUDA_DEVICE_ORDER=PCI_BUS_ID
    unset CUDA_VISIBLE_DEVICES SLURM_LOCALID MPI_LOCALRANKID
    export OMPI_COMM_WORLD_LOCAL_RANK=1
}

teardown() {
    rm -rf "$tmp"
}

@test "the cores of the rank's GPU, for each launcher" {
    [ "$("$bind" echo x)" = "-c 1 echo x" ]
    unset OMPI_COMM_WORLD_LOCAL_RANK
    [ "$(MPI_LOCALRANKID=0 "$bind" echo x)" = "-c 0 echo x" ]
    [ "$(SLURM_LOCALID=3 "$bind" echo x)" = "-c 1 echo x" ]
}

@test "visible devices are counted, names of cards are left alone" {
    [ "$(CUDA_VISIBLE_DEVICES=1,0 "$bind" echo x)" = "-c 0 echo x" ]
    [ "$(CUDA_VISIBLE_DEVICES=GPU-12 "$bind" echo x)" = x ]
    [ "$(CUDA_VISIBLE_DEVICES=7 "$bind" echo x)" = x ]
    [ "$(CUDA_VISIBLE_DEVICES='' "$bind" echo x)" = x ]
}

@test "not bound: no rank, no GPU, another order, cores of somebody else" {
    [ "$(CUDA_DEVICE_ORDER=FASTEST_FIRST "$bind" echo x)" = x ]
    [ "$(OURS=1 "$bind" echo x)" = x ]
    [ "$(STEPSCALE_SYS=/nowhere "$bind" echo x)" = x ]
    unset OMPI_COMM_WORLD_LOCAL_RANK
    [ "$("$bind" echo x)" = x ]
}

@test "the command's code and blanks come through" {
    STEPSCALE_SYS=/nowhere run "$bind" bash -c 'echo "$1"; exit 7' x 'a  b'
    [ "$status" = 7 ]
    [ "$output" = 'a  b' ]
}
