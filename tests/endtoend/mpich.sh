#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpich.sh SOURCE BUILD STEPSCALE: builds the program against MPICH beside the
# default build, then: the tests of the runtime over real ranks, planted costs
# back out of the report, and stepscale-mpirun over mpiexec, whose code must be
# ours when a rank is killed. STEPSCALE (of Open MPI) under mpiexec, and the
# other way round, must say that it is alone. 77: no MPICH here.
set -u
source=$1 build=$2 other=$3
for tool in mpicc.mpich mpiexec.mpich; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: no $tool (packages mpich, libmpich-dev)"
        exit 77
    fi
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "failed: $*"
    failed=1
}

if ! { cmake -S "$source" -B "$build" -G Ninja -DSS_CUDA=OFF -DSS_TESTS=ON \
    -DMPI_EXECUTABLE_SUFFIX=.mpich -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_COMPILER_LAUNCHER="${CMAKE_C_COMPILER_LAUNCHER:-}" &&
    cmake --build "$build" --target stepscale test_rt_mpi; } \
    >"$work/build.log" 2>&1; then
    tail -n 40 "$work/build.log"
    exit 1
fi
program=$build/bin/stepscale
export TEST_MPIEXEC=mpiexec.mpich STEPSCALE_MPIRUN=mpiexec.mpich
ldd "$program" | grep -q 'libmpich\.so' || fail "not linked with MPICH"

cd "$source" || exit 1
for n in 1 2 3 4; do
    timeout 100 tests/support/mpirun "$n" "$build/tests/test_rt_mpi" ||
        fail "test_rt_mpi on $n ranks"
done

/usr/bin/python3 tests/accept/planted.py "$program" \
    "slow 1 of 2, hidden" "slow 1 of 3" || fail "planted costs"

SS_PROGRAM=$program /usr/bin/python3 tests/endtoend/launcher.py \
    Launcher.test_a_killed_rank || fail "launcher"

alone() { # alone LAUNCHER PROGRAM: 12, and why
    local code=0
    TEST_MPIEXEC=$1 timeout 60 tests/support/mpirun 2 "$2" run --engine null \
        --out "$work/alone.h5" >"$work/said" 2>&1 || code=$?
    if [ $code != 12 ] || ! grep -q 'cannot find its peers' "$work/said"; then
        cat "$work/said"
        fail "$2 under $1 ended with $code"
    fi
}
alone mpiexec.mpich "$other"
alone mpirun "$program"
exit $failed
