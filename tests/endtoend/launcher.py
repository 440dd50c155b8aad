#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stepscale-mpirun over the real mpirun: the code is ours whatever happens to
the job, finished points stay, and no process remains."""
import os
import shutil
import signal
import tempfile
import time
import unittest

import e2e

LAUNCHER = os.path.join(e2e.HERE, "..", "..", "launch", "stepscale-mpirun")
# as tests/support/mpirun has it
OPEN_MPI = {
    "STEPSCALE": e2e.PROGRAM,
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_pml": "ob1"}


class Launcher(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "r.h5")

    def start(self, words, own=(), **env):
        job = e2e.Job([*own, "-np", "4", "run", *words, "--out", self.out],
                      program=LAUNCHER, env=dict(OPEN_MPI, **env))
        self.addCleanup(job.__exit__)
        return job

    def in_the_middle(self, job):
        self.assertTrue(e2e.wait_for(
            lambda: len(e2e.finished_parts(self.out + ".part")) >= 2
            or job.process.poll() is not None), job.stderr())
        self.assertIsNone(job.process.poll(), job.stderr())

    def supervisor(self, job):
        """The script itself: `env` has become it."""
        return job.process.pid

    def end(self, job, code, limit):
        self.assertEqual(job.wait(limit), code, job.stderr())
        self.assertEqual(job.remains(), [], "processes remain")

    def points(self):
        whole = os.path.exists(self.out)
        result = e2e.report(self.out if whole else self.out + ".part")
        self.assertGreater(len(result["points"]), 0)
        return result

    def test_a_whole_run(self):
        self.end(self.start(e2e.MANY), 0, 60)
        result = self.points()
        self.assertTrue(result["run"]["complete"])
        again = self.start(e2e.MANY)
        self.end(again, 2, 30)
        self.assertIn("already exists", again.stderr())

    def test_sigterm(self):
        job = self.start(e2e.PACED)
        self.in_the_middle(job)
        os.kill(self.supervisor(job), signal.SIGTERM)
        self.end(job, 11, 25)
        self.assertEqual(self.points()["verdict"]["exit_code"], 11)

    def test_a_killed_rank(self):
        job = self.start(e2e.PACED)
        self.in_the_middle(job)
        os.kill(job.rank_pids()[2], signal.SIGKILL)
        self.end(job, 13, 20)
        self.points()

    def test_a_killed_mpirun(self):
        job = self.start(e2e.PACED)
        self.in_the_middle(job)
        mpirun = [pid for pid in job.pids()
                  if os.path.basename(os.readlink(f"/proc/{pid}/exe"))
                  in ("orterun", "mpirun", "prterun", "mpiexec.hydra")]
        self.assertEqual(len(mpirun), 1)
        os.kill(mpirun[0], signal.SIGKILL)
        self.end(job, 13, 20)
        self.points()

    def test_a_rank_that_stands_still(self):
        job = self.start(e2e.PACED + ["deadline.block=2s",
                                      "deadline.connect=4s"])
        self.in_the_middle(job)
        began = time.monotonic()
        os.kill(job.rank_pids()[3], signal.SIGSTOP)
        self.end(job, 13, 25)
        # 10 s: the least deadline between blocks
        self.assertLess(time.monotonic() - began, 10 + 10)
        self.assertRegex(job.stderr(), r"\brank 3\b")

    def test_an_op_that_never_ends(self):
        job = self.start(e2e.MANY + ["deadline.block=2s",
                                     "null.hang_op=2:6:1"])
        self.end(job, 13, 25)
        self.assertRegex(job.stderr(), r"\brank 2\b")

    def plant(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/bash\n" + text)
        os.chmod(path, 0o755)
        return path

    def test_a_rank_that_never_comes(self):
        """The others stand in MPI_Init, and say so."""
        program = self.plant(
            "program", '[ "$OMPI_COMM_WORLD_RANK" = 2 ] && exec sleep 60\n'
            f'exec {e2e.PROGRAM} "$@"\n')
        job = self.start(e2e.SMALL + ["deadline.start=2s"], STEPSCALE=program)
        self.end(job, 13, 30)
        self.assertRegex(job.stderr(), "rank 0 on .* has waited 2 s in MPI_Init")
        self.assertNotRegex(job.stderr(), "rank 2 on .* has waited")

    def test_a_launcher_that_never_starts(self):
        mpirun = self.plant("mpirun", '[ "$1" = --version ] && '
                            'echo "mpirun (Open MPI) 4.1.4" && exit\n'
                            'trap "" TERM\nsleep 60\n')
        job = self.start(e2e.SMALL, ["--mpirun", mpirun],
                         SS_DEADLINE_START="1s")
        self.end(job, 13, 30)
        self.assertIn("nothing has started in 11 s", job.stderr())


if __name__ == "__main__":
    unittest.main(verbosity=2)
