#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [BUILD] [CHECK...]: the habits that a machine can check, as TAP, one
# line a check. BUILD (default: build) holds compile_commands.json and the
# cache of clang-tidy's answers. Checks: format tidy bans complexity shell
# length text; all without names.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build}
[ $# -gt 0 ] && shift
checks=${*:-format tidy bans complexity shell length text}
llvm=14 # another version of LLVM formats and warns otherwise
n=0
failed=0

report() { # report NAME OUTPUT: ok when there is no output
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - lint $1"
    else
        printf '%s\n' "$2" | head -n 60 | sed 's/^/# /'
        echo "not ok $n - lint $1"
        failed=1
    fi
}

skip() { # skip NAME REASON
    n=$((n + 1))
    echo "ok $n - lint $1 # skip $2"
}

have() { # have TOOL: there, and (for LLVM's) of the version that decides
    command -v "$1" >/dev/null || return 1
    case $1 in
    clang-*) "$1" --version | grep -q "version $llvm\." ;;
    esac
}

files() { # files PATTERN...: tracked and new files, not deleted ones
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -co --exclude-standard -- "$@" | sort -u
    else
        local pattern
        for pattern in "$@"; do
            find . -path "./$pattern" -not -path './build*' | sed 's|^\./||'
        done
    fi | while read -r file; do
        [ -f "$file" ] && echo "$file"
    done
}

c_files() {
    files 'src/*.c' 'src/*.h' 'kernels/*.c' 'kernels/*.h' 'kernels/*.cu' \
        'kernels/*.cuh' 'tests/*.c' 'tests/*.h' 'tests/*.cu'
}

check_format() {
    local bad
    bad=$(c_files | xargs -r clang-format --dry-run -Werror 2>&1 |
        sed -n 's/:.*code should be clang-formatted.*/: run clang-format -i/p' |
        sort -u)
    report format "$bad"
}

check_tidy() {
    local salt list
    if [ ! -e "$build/compile_commands.json" ]; then
        report tidy "no $build/compile_commands.json: configure first"
        return
    fi
    salt=$({
        files 'src/*.h' 'src/*.def' | xargs cat
        cat .clang-tidy
        clang-tidy --version
    } | sha256sum)
    list=$(files 'src/*.c' | while read -r file; do
        grep -q "/$file\"" "$build/compile_commands.json" && echo "$file"
    done)
    report tidy "$(echo "$list" | xargs -P "$(nproc)" -I{} \
        tests/scripts/tidy_one.sh {} "$salt" "$build" | sort -u)"
}

# --- words that have no place in a room -------------------------------------
# ban WORDS ALLOWED WHY: an extended pattern, and files where it may stand.
# Comments do not count, nor does the name that opens a string.
ban() {
    files 'src/*.c' 'src/*.h' 'kernels/*.c' 'kernels/*.h' | grep -vE "^($2)$" |
        while read -r file; do
            gcc -fpreprocessed -dD -E -P "$file" 2>/dev/null |
                grep -E "(^|[^A-Za-z0-9_>.\"])($1)" |
                sed "s|^|$file: $3: |"
        done
}

check_bans() {
    local call='[[:space:]]*\('
    # start_guard.c: the watchdog of the time before there is a runtime
    local ends='src/main\.c|src/cluster/watchdog\.c|src/cluster/rt_mpi\.c'
    ends="$ends|src/cluster/start_guard\.c"
    local speak='src/report/.*|src/commands/.*|src/main\.c'
    # rt_solo.c: its abort hook; status.c: a broken invariant; read_child.c:
    # the end of a forked child
    local abort="$ends|src/cluster/rt_solo\.c|src/base/status\.c"
    abort="$abort|src/store/read_child\.c"
    # rt_threads: memory that one rank takes and another frees, which must not
    # count as an allocation of either; disk_driver.c: memory that HDF5 frees
    local heap='src/base/mem\.c|src/cluster/rt_threads.*|src/store/disk_driver\.c'
    report bans "$({
        ban "(strcpy|strcat|v?sprintf|strtok|ato[ifl]|v?f?scanf|sscanf|gets)$call" \
            none 'banned call'
        ban "(_?exit|abort|quick_exit|MPI_Abort)$call" "$abort" 'ends the process'
        ban 'MPI_[A-Za-z]' 'src/cluster/rt_mpi(_[a-z]+)?\.[ch]' 'MPI outside rt_mpi'
        ban "(v?printf|puts|putchar)$call" "$speak" 'prints'
        ban "(malloc|calloc|realloc|strn?dup|v?asprintf)$call" \
            "$heap" 'memory not from base/mem.h'
    })"
}

check_complexity() {
    local over
    over=$(files 'src/*.c' 'kernels/*.c' 'tests/*.c' | xargs -r pmccabe |
        awk '$1 > 15 { print $6 " " $NF ": complexity " $1 " (at most 15)" }
             $5 > 60 { print $6 " " $NF ": " $5 " lines (at most 60)" }')
    report complexity "$over"
}

scripts() { # files whose first line names a shell
    files '*' | while read -r file; do
        head -c 64 "$file" | head -n 1 | grep -qaE '^#!.*(/| )(ba|da)?sh( |$)' &&
            echo "$file"
    done
}

check_shell() {
    report shell "$({
        scripts | xargs -r shellcheck -f gcc
        # planted scripts expand later (SC2016); bats sets variables (the rest)
        files '*.bats' | xargs -r shellcheck -s bats \
            -e SC2016,SC2030,SC2031,SC2154 -f gcc
    } 2>&1)"
}

code_files() {
    files '*.c' '*.h' '*.cu' '*.cuh' '*.def' '*.cmake' '*CMakeLists.txt' '*.py' \
        '*.bats' '*.sh'
    scripts
}

check_length() {
    report length "$(code_files | sort -u | xargs wc -l |
        awk '$2 != "total" && $1 > 400 { print $2 ": " $1 " lines (at most 400)" }')"
}

check_text() {
    report text "$(code_files | sort -u | while read -r file; do
        case $file in
        *.cmake | *CMakeLists.txt) ;; # lists: build rules without a licence line
        *) head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
            echo "$file: no SPDX line" ;;
        esac
        case $file in tests/scripts/lint.sh) continue ;; esac
        grep -nE '\b(TODO|FIXME|XXX)\b' "$file" | sed "s|^|$file:|"
        grep -nE '[[:blank:]]+$' "$file" | sed "s|^|$file: blank at the end: |"
    done)"
}

missing() { # missing CHECK TOOL: true, and said, where the tool is not there
    have "$2" && return 1
    skip "$1" "no $2 (of LLVM: version $llvm)"
}

for check in $checks; do
    case $check in
    format) missing format clang-format || check_format ;;
    tidy) missing tidy clang-tidy || check_tidy ;;
    bans) missing bans gcc || check_bans ;;
    complexity) missing complexity pmccabe || check_complexity ;;
    shell) missing shell shellcheck || check_shell ;;
    length) check_length ;;
    text) check_text ;;
    *) report "$check" "unknown check" ;;
    esac
done
echo "1..$n"
exit $failed
