#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# launch/container: what can be said of the files without a container engine.

setup() {
    root=$BATS_TEST_DIRNAME/../..
    container=$root/launch/container
}

@test "the images copy what is there, and install sets that are there" {
    for file in launch/install-packages launch/packages; do
        grep -q "$file" "$container/Containerfile"
        [ -e "$root/$file" ]
    done
    for set in build run; do
        grep -q "install-packages $set" "$container/Containerfile"
        grep -q "^$set " "$root/launch/packages"
    done
    grep -q 'install-packages build' "$container/stepscale.def"
}

@test "libraries of the run set are those that the program is linked to" {
    [ -n "${SS_PROGRAM:-}" ] || skip "no program"
    command -v dpkg-query >/dev/null || skip "no dpkg"
    for library in hdf5 openblas hwloc yaml jansson smartcols xxhash uuid; do
        ldd "$SS_PROGRAM" | grep -q "lib$library" || continue
        grep -Eq "^run .*lib$library" "$root/launch/packages"
    done
}

@test "the MPIJob: version, slots equal GPUs, the launcher's words" {
    python=$(command -v /usr/bin/python3 || command -v python3)
    "$python" -c 'import yaml' 2>/dev/null || skip "no python3-yaml"
    "$python" - "$container/mpijob.yaml" <<'PY'
import sys
import yaml
with open(sys.argv[1]) as file:
    job = yaml.safe_load(file)
assert job["apiVersion"] == "kubeflow.org/v2beta1" and job["kind"] == "MPIJob"
spec = job["spec"]
replicas = spec["mpiReplicaSpecs"]
worker = replicas["Worker"]["template"]["spec"]["containers"][0]
assert worker["resources"]["limits"]["nvidia.com/gpu"] == spec["slotsPerWorker"]
launcher = replicas["Launcher"]["template"]["spec"]["containers"][0]
assert launcher["command"] == ["stepscale-mpirun"]
assert all(isinstance(word, str) for word in launcher["args"])
PY
}
