#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py writer RANKS STRIDE | threads RANKS STRIDE | random COUNT

The crash proof of the whole program. writer: the process that writes is
killed before its k-th change below the output folder, for every STRIDE-th k,
through the final merge; every point whose rename returned (the shim is the
witness) must be in the report, bit for bit as an undisturbed run of the same
seed has it (the null engine's virtual clock is exact). threads: the same with
all ranks as threads of one process, for many points without a launcher. random: kill -9 of a
random rank at a random moment; every finished point must be readable and no
process may remain. Ends with "k tried, n lost" and fails if any was lost."""
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy

import e2e

SHIM = os.environ.get("SS_KILL_SHIM", "")
THREAD_JOB = os.environ.get("SS_THREAD_JOB", "thread_job")
NOISY = e2e.MANY + ["null.noise=0.1", "measure.sample_every=2"]


def points_of(path):
    """{index: what a point measured}, from a result file or its folder."""
    found = {}
    if os.path.isdir(path):
        for index in e2e.finished_parts(path):
            with h5py.File(f"{path}/{index:04d}.h5") as file:
                found[index] = content(file)
    else:
        with h5py.File(path) as file:
            for name, group in file["points"].items():
                found[int(name)] = content(group)
    return found


def content(group):
    """The samples as bytes; wall-clock columns are another's business."""
    return {name: (data.shape, data.dtype.str, numpy.array(data).tobytes())
            for name, data in ((n, group[n]) for n in ("step_ns", "terms"))}


def result_path(out):
    return out if os.path.exists(out) else out + ".part"


def sizes(ranks):
    return "scaling.sizes=" + ",".join(str(n + 1) for n in range(ranks))


def words(base, out, ranks):
    return ["run"] + base + [sizes(ranks), "--out", out]


def job(kind, ranks, out, env):
    """(code, stdout, stderr) of one job whose writer has the shim."""
    arguments = words(NOISY, out, ranks)
    if kind == "writer":
        return e2e.run(arguments, ranks, preload=SHIM, env=env)
    settings = [word for word in arguments if "=" in word]
    return e2e.run([str(ranks), out] + settings, preload=SHIM, env=env,
                   program=THREAD_JOB)


def undisturbed(kind, folder, ranks):
    """The reference points and the number of counted calls."""
    out = os.path.join(folder, "r.h5")
    code, _, err = job(kind, ranks, out, {"SS_KILL_UNDER": folder})
    calls = [int(n) for n in re.findall(r"kill_shim: (\d+) calls", err)]
    if code not in (0, 11) or not calls or max(calls) == 0:
        sys.exit(f"the undisturbed run gives {code}\n{err}")
    return points_of(out), max(calls)


def killed_at(work, kind, ranks, k, reference):
    """What was lost when the writer died before its k-th call."""
    folder = os.path.join(work, str(k))
    tell = folder + ".tell"
    out = os.path.join(folder, "r.h5")
    os.mkdir(folder)
    code, _, err = job(kind, ranks, out,
                       {"SS_KILL_UNDER": folder, "SS_KILL_AT": str(k),
                        "SS_KILL_TELL": tell})
    lost = [] if code != 0 else [f"k={k}: was not killed\n{err}"]
    told = set()
    if os.path.exists(tell):
        with open(tell) as file:
            told = set(file.read().split())
    if "0000.h5" in told:
        lost += compare(out, k, told, reference)
    shutil.rmtree(folder)
    for line in lost:  # now, for a run of thousands may be stopped
        print(line, flush=True)
    return lost


def compare(out, k, told, reference):
    lost = []
    path = result_path(out)
    if "r.h5" in told and path != out:
        lost.append(f"k={k}: the merged file is gone")
    points = points_of(path)
    named = [int(m[1]) for m in (re.fullmatch(r"(\d{4})\.h5", name)
                                 for name in told) if m and int(m[1]) > 0]
    for index in named:
        if index not in points:
            lost.append(f"k={k}: point {index} is lost")
    for index, data in points.items():
        if data != reference[index]:
            lost.append(f"k={k}: point {index} differs")
    reported = len(e2e.report(path)["points"])
    if reported != len(points):
        lost.append(f"k={k}: {reported} of {len(points)} points reported")
    return lost


def writer(kind, ranks, stride):
    work = tempfile.mkdtemp()
    try:
        whole = os.path.join(work, "whole")
        os.mkdir(whole)
        reference, calls = undisturbed(kind, whole, ranks)
        instants = list(range(1, calls + 1, stride))
        lanes = 1 if kind == "writer" and ranks > 1 else 2
        with ThreadPoolExecutor(lanes) as pool:
            lost = sum(pool.map(
                lambda k: killed_at(work, kind, ranks, k, reference),
                instants), [])
        unit = "threads" if kind == "threads" else "ranks"
        return finish(f"{len(instants)} of {calls} kill instants, "
                      f"{len(reference)} points, {ranks} {unit}", lost)
    finally:
        shutil.rmtree(work)


def struck(ranks, seed):
    """One job in which a random rank dies at a random moment."""
    chance = random.Random(seed)
    work = tempfile.mkdtemp()
    out = os.path.join(work, "r.h5")
    problems = []
    try:
        with e2e.Job(words(e2e.PACED, out, ranks), ranks) as job:
            e2e.wait_for(lambda: os.path.exists(out + ".part/0000.h5"))
            after = chance.uniform(0, 3)
            e2e.wait_for(lambda: job.process.poll() is not None, after)
            rank = chance.randrange(ranks)
            pid = job.rank_pids().get(rank)
            if pid is None:
                return [f"seed {seed}: no rank {rank} after {after:.2f} s\n"
                        + job.stderr()]
            e2e.kill(pid, signal.SIGKILL)
            code = job.wait(20)
            if code in (None, 0):
                problems.append(f"seed {seed}: the job ends with {code}")
            if job.remains():
                problems.append(f"seed {seed}: processes remain")
        path = result_path(out)
        finished = len(points_of(path))
        reported = len(e2e.report(path)["points"])
        print(f"  rank {rank} killed after {after:.2f} s, code {code}: "
              f"{reported} of {finished} finished points reported", flush=True)
        if reported != finished:
            problems.append(f"seed {seed}: {reported} of {finished} points")
        return problems
    finally:
        shutil.rmtree(work)


def strike(count):
    lost = []
    for seed in range(count):
        for line in struck(4, seed):
            print(line, flush=True)
            lost.append(line)
    return finish(f"{count} kills of a random rank", lost)


def finish(what, lost):
    print(f"{what}: {len(lost)} lost")
    return 1 if lost else 0


def main(argv):
    if len(argv) == 4 and argv[1] in ("writer", "threads"):
        if not os.path.exists(SHIM):
            sys.exit("SS_KILL_SHIM names no library")
        return writer(argv[1], int(argv[2]), int(argv[3]))
    if len(argv) == 3 and argv[1] == "random":
        return strike(int(argv[2]))
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
