# SPDX-License-Identifier: Apache-2.0
"""The real program as a child: started with a mark in its environment, under
a limit, so that a test can find every process of it and prove that none
remains. SS_PROGRAM is the program, SS_KILL_SHIM the preload shim."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = os.path.join(HERE, "..", "support", "mpirun")
PROGRAM = os.environ.get("SS_PROGRAM", "stepscale")

# A rank's number, as Open MPI and MPICH give it.
RANK_NAMES = (b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")

# Null engine, one small layer, as quick as it goes.
SMALL = ("--engine null model.layers=1 model.hidden=256 model.tokens=512 "
         "scaling.min_tokens=1 null.gemm_ms=1 measure.min_block=0ms "
         "measure.min_blocks=2 measure.max_blocks=4 measure.budget=1h "
         "out.format=none").split()
# Every size both ways and shifted: 16 points on 4 ranks, 26 on 6.
MANY = SMALL + ["groups.mode=both", "--sizes", "1,2,3,4",
                "scaling.global_batch=7680"]
# The same at wall time: some seconds.
PACED = MANY + ["null.pace=1", "null.noise=0.01", "null.collective_ms=1",
                "scaling.global_batch=1536"]


class Job:
    """One start of the program; use it in a with statement."""

    def __init__(self, words, ranks=1, preload=None, env=None,
                 program=None):
        self.mark = f"e2e-{uuid.uuid4()}"
        self.ranks = ranks
        command = [program or PROGRAM] + list(words)
        extra = dict(env or {})
        if preload:
            extra["LD_PRELOAD"] = preload
            # a sanitizer wants to be the first library; here the shim is
            extra["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
        setting = [f"{key}={value}" for key, value in extra.items()]
        command = ["env"] + setting + command
        if ranks > 1:
            command = [MPIRUN, str(ranks)] + command
        self.err = tempfile.TemporaryFile("w+")
        self.out = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.out,
            stderr=self.err, env=dict(os.environ, E2E_MARK=self.mark))
        self.began = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.pids():
            kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.err.close()
        self.out.close()

    def pids(self):
        """{pid: environment} of everything that carries the mark."""
        found = {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if b"E2E_MARK=" + self.mark.encode() in words:
                found[int(name)] = words
        return found

    def rank_pids(self):
        """{MPI rank: pid} of the program's own processes (0 alone)."""
        found = {}
        for pid, words in self.pids().items():
            try:
                exe = os.readlink(f"/proc/{pid}/exe")
            except OSError:
                continue
            if os.path.realpath(exe) != os.path.realpath(PROGRAM):
                continue
            rank = [w for w in words if w.startswith(RANK_NAMES)]
            found[int(rank[0].split(b"=")[1]) if rank else 0] = pid
        return found

    def wait(self, limit):
        """Exit code, or None at the limit."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            return None

    def stderr(self):
        self.err.seek(0)
        return self.err.read()

    def stdout(self):
        self.out.seek(0)
        return self.out.read()

    def remains(self, patience=5):
        """Processes that still run some seconds after the end."""
        until = time.monotonic() + patience
        while True:
            left = [pid for pid in self.pids() if not is_zombie(pid)]
            if not left or time.monotonic() > until:
                return left
            time.sleep(0.05)


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def run(words, ranks=1, limit=60, **more):
    """(code, stdout, stderr) of a run that must end by itself."""
    with Job(words, ranks, **more) as job:
        code = job.wait(limit)
        out, err = job.stdout(), job.stderr()
        if code is None:
            sys.exit(f"did not end in {limit} s: {words}\n{err}")
        left = job.remains()
        if left:
            sys.exit(f"processes remain after {words}: {left}\n{err}")
    return code, out, err


def report(path):
    """The JSON of `report`, which must succeed."""
    code, out, err = run(["report", path, "--format", "json",
                          "--ranks", "none"])
    if code != 0:
        sys.exit(f"report {path}: code {code}\n{err}")
    return json.loads(out)


def finished_parts(folder):
    """Indices of the points that stand finished in a .part folder."""
    if not os.path.isdir(folder):
        return []
    names = (re.fullmatch(r"(\d{4,})\.h5", name)
             for name in os.listdir(folder))
    return sorted(int(n[1]) for n in names if n and int(n[1]) > 0)


def wait_for(condition, limit=20):
    """Polls; True when it came true in time."""
    until = time.monotonic() + limit
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
