#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# launch/quickstart in a copy of the tree with planted tools on PATH: nothing
# is installed, built or run; every tool writes down how it was called.

setup() {
    tmp=$(mktemp -d)
    top=$tmp/tree
    bin=$tmp/bin
    called=$tmp/called
    mkdir -p "$top/launch" "$bin"
    touch "$top/CMakeLists.txt"
    cp -r "$BATS_TEST_DIRNAME/../../launch/"* "$top/launch"
    plant mpirun 'exit "${MPIRUN_CODE:-0}"'
    plant cmake 'exit "${CMAKE_CODE:-0}"'
    plant nvidia-smi 'exit 9'
    plant dpkg-query 'echo installed'
    plant apt-get 'exit 0'
    plant apt-cache 'exit 0'
    export PATH=$bin:$PATH
    unset OMPI_MCA_btl
    cd "$tmp" || return 1
}

teardown() {
    rm -rf "$tmp"
}

plant() { # plant NAME BODY: a tool that writes down its call
    cat >"$bin/$1" <<TOOL
#!/bin/bash
echo "$1 \$*" >>"$called"
$2
TOOL
    chmod +x "$bin/$1"
}

plant_program() { # plant_program ENGINES
    mkdir -p "$top/build/bin"
    printf '#!/bin/bash\necho "  engines: %s"\n' "$1" \
        >"$top/build/bin/stepscale"
    chmod +x "$top/build/bin/stepscale"
}

@test "help says what it will do, and does nothing" {
    run "$top/launch/quickstart" --help
    [ "$status" = 0 ]
    [[ $output == *"usage: launch/quickstart"* ]]
    [ ! -e "$called" ]
}

@test "without a GPU: two CPU ranks, result file in the current folder" {
    run "$top/launch/quickstart"
    [ "$status" = 0 ]
    grep -q "^mpirun -np 2 $top/build/bin/stepscale run --out $tmp/stepscale-" \
        "$called"
    [[ $output == *"result file: $tmp/stepscale-"* ]]
}

@test "arguments are passed on, in order, blanks kept" {
    run "$top/launch/quickstart" --budget 10s "model.file=a b" --out x.h5
    [ "$status" = 0 ]
    grep -q "stepscale run --budget 10s model.file=a b --out x.h5$" "$called"
    [[ $output == *"result file: $tmp/x.h5"* ]]
}

@test "GPUs count only when the build can drive them" {
    plant nvidia-smi 'printf "GPU 0: A\nGPU 1: A\nGPU 2: A\n"'
    plant_program "host null"
    run "$top/launch/quickstart"
    grep -q "^mpirun -np 2 " "$called"
    plant_program "cuda host null"
    run "$top/launch/quickstart"
    grep -q "^mpirun -np 3 " "$called"
}

@test "--ranks decides, and a wrong one is refused" {
    run "$top/launch/quickstart" --ranks 5
    grep -q "^mpirun -np 5 " "$called"
    for bad in 0 -1 x 1.5; do
        run "$top/launch/quickstart" --ranks "$bad"
        [ "$status" = 2 ]
    done
}

@test "--dry-run calls neither cmake nor mpirun" {
    run "$top/launch/quickstart" --dry-run
    [ "$status" = 0 ]
    run grep -qE '^(cmake|mpirun)' "$called"
    [ "$status" != 0 ]
}

@test "a second time nothing is configured again" {
    mkdir -p "$top/build"
    touch "$top/build/build.ninja"
    run "$top/launch/quickstart"
    [ "$status" = 0 ]
    run grep -q -- '--preset' "$called"
    [ "$status" != 0 ]
    grep -q -- '^cmake --build' "$called"
}

@test "a failed build ends with 12 and runs nothing" {
    CMAKE_CODE=1 run "$top/launch/quickstart"
    [ "$status" = 12 ]
    run grep -q '^mpirun' "$called"
    [ "$status" != 0 ]
}

@test "the code of the run comes through" {
    MPIRUN_CODE=10 run "$top/launch/quickstart"
    [ "$status" = 10 ]
}

@test "missing packages are named before they are installed" {
    plant dpkg-query 'case $* in *ninja*) exit 1 ;; *) echo installed ;; esac'
    plant sudo 'exec "$@"'
    run "$top/launch/quickstart"
    [ "$status" = 0 ]
    [[ $output == *"will install with apt: ninja-build"* ]]
    grep -q '^apt-get install .*ninja-build' "$called"
}

@test "the first alternative that apt knows is taken" {
    plant dpkg-query 'exit 1'
    plant apt-cache 'case $2 in libopenblas-dev) exit 0 ;; *) exit 100 ;; esac'
    run "$top/launch/install-packages" --dry-run build
    [[ $output == *" libopenblas-dev "* ]]
    [[ $output != *libopenblas-pthread-dev* ]]
    run grep -q '^apt-get' "$called"
    [ "$status" != 0 ]
}

@test "packages that apt refuses are a failure" {
    plant dpkg-query 'exit 1'
    plant apt-get 'exit 100'
    plant sudo 'exec "$@"'
    run "$top/launch/install-packages" build
    [ "$status" = 12 ]
}

@test "without the source it says that it is installed already" {
    rm "$top/CMakeLists.txt"
    run "$top/launch/quickstart"
    [ "$status" = 2 ]
    [[ $output == *"installed already"* ]]
}
