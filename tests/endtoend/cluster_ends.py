#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stepscale-mpirun over 4 virtual hosts, when clusters do what clusters do: a
host dies, a link is cut, a rank stands still, somebody stops the job. The job
ends in time with 13 (11 for a stop), finished points are readable, and no
process of stepscale remains on any host. Words choose tests; --full: all, 3
times. Prints a table: test, code, seconds, points. 77: cannot run here."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import e2e

ROOT = os.path.realpath(os.path.join(e2e.HERE, "..", ".."))
VCLUSTER = os.path.join(ROOT, "tests", "cluster", "vcluster")
LAUNCHER = os.path.join(ROOT, "launch", "stepscale-mpirun")
DEADLINE = 10  # s: the least between blocks (deadline.block=2s)
TABLE = []


def skip(why):
    print("skipped:", why)
    sys.exit(77)


class Ends(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ss-ends-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.environ["VCLUSTER_DIR"] = self.folder + "/cluster"
        self.vcluster("up", "4")
        self.addCleanup(self.vcluster, "down")
        self.out = self.folder + "/r.h5"
        words = ["front", "1", LAUNCHER, "--hostfile",
                 self.folder + "/cluster/hostfile", "run", *e2e.PACED,
                 "deadline.block=2s", "deadline.connect=4s", "--out", self.out]
        self.job = e2e.Job(words, program=VCLUSTER,
                           env={"STEPSCALE": e2e.PROGRAM})
        self.addCleanup(self.job.__exit__)
        self.assertTrue(e2e.wait_for(
            lambda: len(e2e.finished_parts(self.out + ".part")) >= 2
            or self.job.process.poll() is not None, 60), self.job.stderr())
        self.assertIsNone(self.job.process.poll(), self.job.stderr())
        self.began = time.monotonic()

    def vcluster(self, *words):
        if subprocess.run([VCLUSTER, *words]).returncode != 0:
            skip("no virtual hosts here")

    def end(self, code, named=None):
        got = self.job.wait(DEADLINE + 25)
        took = time.monotonic() - self.began
        said = self.job.stderr()
        self.assertEqual(got, code, said)
        self.assertLess(took, DEADLINE + 10, said)
        # launcher daemons may outlive a cut; ranks may not
        self.assertTrue(e2e.wait_for(lambda: not self.job.rank_pids(), 10),
                        f"ranks remain: {self.job.rank_pids()}\n{said}")
        whole = os.path.exists(self.out)
        result = e2e.report(self.out if whole else self.out + ".part")
        self.assertGreaterEqual(len(result["points"]), 2)
        self.assertEqual(result["verdict"]["exit_code"], code,
                         [result["verdict"], result["findings"], said])
        if named is not None:
            self.assertIn(named, {f["culprit"]["rank"] for f in
                                  result["findings"]
                                  if f["kind"] in ("hang", "lost_rank")}, said)
        TABLE.append((self.id().split(".")[-1], code, took,
                      len(result["points"])))

    def test_a_lost_host(self):
        self.vcluster("crash", "n3")
        self.end(13)
        # which host it was is mpirun's to say, and it does not always

    def test_a_lost_host_of_rank_0(self):
        self.vcluster("crash", "n1")
        self.end(13)

    def test_a_cut_link(self):
        self.vcluster("cut", "n2")
        self.end(13)

    def test_a_cut_link_of_rank_0(self):
        self.vcluster("cut", "n1")
        self.end(13)

    def test_a_rank_that_stands_still(self):
        os.kill(self.job.rank_pids()[2], signal.SIGSTOP)
        self.end(13, named=2)

    def test_a_stop(self):
        """To the launcher: `vcluster front` has become it."""
        launcher = [pid for pid in self.job.pids() if self.is_launcher(pid)]
        self.assertTrue(launcher)
        os.kill(min(launcher), signal.SIGTERM)
        self.end(11)

    @staticmethod
    def is_launcher(pid):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        return LAUNCHER.encode() in words[:2]


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("virtual hosts need root")
    for tool in ("ip", "mpirun"):
        if not shutil.which(tool):
            skip("no " + tool)
    full = "--full" in sys.argv
    argv = [a for a in sys.argv if a != "--full"]
    good = True
    for _ in range(3 if full else 1):
        good &= unittest.main(verbosity=2, argv=argv,
                              exit=False).result.wasSuccessful()
    for name, code, took, points in TABLE:
        print(f"| {name} | {code} | {took:.1f} | {points} |")
    sys.exit(not good)
