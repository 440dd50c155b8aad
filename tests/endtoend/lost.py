#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""lost.py [N [SEED]]: N jobs of 4 ranks under bare mpirun on each of two engines, one rank
of each killed (SIGKILL) at a random time. mpirun says 137 and kills the rest a second later;
the report must name the rank that was killed, all the same, and call the run 13. Prints a
line a job."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import e2e

RANKS = 4
HOST = ("--engine host model.layers=2 model.hidden=256 model.tokens=256 scaling.min_tokens=1 "
        "measure.budget=1h measure.max_blocks=12 measure.min_blocks=12 measure.min_block=20ms "
        "out.format=none groups.mode=both --sizes 1,2,3,4 device.threads=1").split()
ENGINES = {"null": e2e.PACED, "host": HOST}


def whole(out):
    """The run came to its end before the kill did: try again."""
    return os.path.exists(out)


def kill_one(engine, random_numbers, folder):
    out = os.path.join(folder, "r.h5")
    rank = random_numbers.randrange(RANKS)
    with e2e.Job(["run", *ENGINES[engine], "--out", out], RANKS) as job:
        if not e2e.wait_for(lambda: os.path.exists(out + ".part/0000.h5"), 60):
            sys.exit(f"the run does not begin\n{job.stderr()}")
        time.sleep(random_numbers.uniform(0, 2.5))
        pids = job.rank_pids()
        if rank not in pids or whole(out):
            return None
        e2e.kill(pids[rank], signal.SIGKILL)
        code = job.wait(40)
        if whole(out):
            return None
        said = job.stderr()
        if code is None or job.remains():
            sys.exit(f"not over: {job.remains()}\n{said}")
    result = e2e.report(out + ".part")
    check = subprocess.run([e2e.PROGRAM, "report", "--check", "--format", "json", out + ".part"],
                           stdout=subprocess.DEVNULL, check=False).returncode
    lost = [f["culprit"]["rank"] for f in result["findings"] if f["kind"] == "lost_rank"]
    good = lost == [rank] and check == result["verdict"]["exit_code"] == 13
    print(f"{engine}: rank {rank} killed, mpirun {code}, lost_rank {lost}, code {check}, "
          f"{len(result['points'])} points", flush=True)
    if not good:
        print(said, [f["evidence"] for f in result["findings"]], sep="\n")
    return good


def main():
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    print("seed", seed)
    numbers = random.Random(seed)
    bad = 0
    for engine in ENGINES:
        done = 0
        while done < wanted:
            folder = tempfile.mkdtemp(prefix="ss-lost-")
            try:
                good = kill_one(engine, numbers, folder)
            finally:
                shutil.rmtree(folder)
            done += good is not None
            bad += good is False
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
