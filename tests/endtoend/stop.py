#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that are stopped, or break, in the middle: they end in time, with the
right code, name the culprit, keep every finished point, and leave nothing."""
import os
import shutil
import signal
import tempfile
import time
import unittest

import e2e

HANG = e2e.MANY + ["deadline.block=2s"]


class Stop(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "r.h5")
        self.part = self.out + ".part"

    def words(self, words):
        return ["run"] + words + ["--out", self.out]

    def start(self, words, ranks):
        job = e2e.Job(self.words(words), ranks)
        self.addCleanup(job.__exit__)
        return job

    def in_the_middle(self, job, points=2):
        """Waits until so many points are finished and others are not."""
        self.assertTrue(
            e2e.wait_for(lambda: len(e2e.finished_parts(self.part)) >= points
                         or job.process.poll() is not None),
            f"no point in time\n{job.stderr()}")
        self.assertIsNone(job.process.poll(),
                          f"ended too early\n{job.stderr()}")

    def end(self, job, limit):
        code = job.wait(limit)
        self.assertIsNotNone(code, f"not over in {limit} s\n{job.stderr()}")
        self.assertEqual(job.remains(), [], "processes remain")
        return code

    def result(self):
        """What a reader gets; every finished point must be in it."""
        whole = os.path.exists(self.out)
        parts = e2e.finished_parts(self.part)
        result = e2e.report(self.out if whole else self.part)
        self.assertFalse(result["run"]["complete"])
        if not whole:
            self.assertEqual(len(result["points"]), len(parts))
        self.assertGreater(len(result["points"]), 0)
        return result

    def stopped(self, code=None):
        result = self.result()
        verdict = result["verdict"]
        self.assertEqual(verdict["exit_code"], 11)
        if os.path.exists(self.out):
            self.assertRegex(" ".join(verdict["reasons"]),
                             r"stopped by SIG\w+ after \d+ of \d+ points")
        if code is not None:
            self.assertEqual(code, 11)

    # --- asked to stop ---------------------------------------------------

    def test_sigterm_alone(self):
        job = self.start(e2e.PACED + ["measure.max_blocks=400",
                                      "measure.min_blocks=400",
                                      "--sizes", "1"], 1)
        self.assertTrue(e2e.wait_for(
            lambda: os.path.exists(self.part + "/0001.h5")))
        job.process.send_signal(signal.SIGTERM)
        self.stopped(self.end(job, 5))

    def test_sigterm_to_mpirun(self):
        job = self.start(e2e.PACED, 4)
        self.in_the_middle(job)
        job.process.send_signal(signal.SIGTERM)
        self.assertNotEqual(self.end(job, 10), 0)
        self.stopped()

    def test_sigterm_to_one_rank(self):
        job = self.start(e2e.PACED, 4)
        self.in_the_middle(job)
        os.kill(job.rank_pids()[2], signal.SIGTERM)
        self.stopped(self.end(job, 10))

    def test_sigint_to_mpirun(self):
        job = self.start(e2e.PACED, 4)
        self.in_the_middle(job)
        job.process.send_signal(signal.SIGINT)
        self.assertNotEqual(self.end(job, 10), 0)
        self.result()

    # --- broken ----------------------------------------------------------

    def hung(self, code, err, rank):
        self.assertEqual(code, 13, err)
        self.assertRegex(err, rf"\brank {rank}\b")
        result = self.result()
        kinds = {(f["kind"], f["culprit"]["rank"])
                 for f in result["findings"]}
        self.assertTrue(kinds & {("hang", rank), ("lost_rank", rank)}, kinds)

    def never_ends(self, op):
        # a compute op, not in the first point: finished ones must survive
        began = time.monotonic()
        job = self.start(HANG + [f"null.hang_op={op}"], 4)
        code = self.end(job, 20)
        self.assertLess(time.monotonic() - began, 2 + 10 + 3)
        self.hung(code, job.stderr(), 2)

    def test_an_op_that_never_ends_beside_other_groups(self):
        self.never_ends("2:3:1")

    def test_an_op_that_never_ends_while_peers_wait(self):
        self.never_ends("2:6:1")

    def fails(self, op):
        """The point fails, with its reason; the others are measured."""
        job = self.start(HANG + [f"null.fail_op={op}"], 4)
        code = self.end(job, 20)
        err = job.stderr()
        self.assertIn(code, (10, 11, 12, 13), err)
        self.assertRegex(err, r"rank 1 on \S+: op 1 .* failed")
        result = e2e.report(self.out if os.path.exists(self.out)
                            else self.part)
        self.assertEqual([p["status"] for p in result["points"]].count(
            "failed"), 1)

    def test_an_op_that_fails_beside_other_groups(self):
        self.fails("1:3:1")

    def test_an_op_that_fails_while_peers_wait(self):
        self.fails("1:6:1")

    def test_a_rank_that_stands_still(self):
        job = self.start(e2e.PACED + ["deadline.block=2s",
                                      "deadline.connect=4s"], 4)
        self.in_the_middle(job)
        began = time.monotonic()
        os.kill(job.rank_pids()[3], signal.SIGSTOP)
        code = self.end(job, 25)
        self.assertLess(time.monotonic() - began, 4 + 10)
        self.hung(code, job.stderr(), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
