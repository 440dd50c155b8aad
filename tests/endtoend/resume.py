#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run --resume: after a kill or a stop the missing points are run, and the
result is that of an undisturbed run, bit for bit; another configuration or
other hardware is refused, with the difference."""
import os
import shutil
import signal
import tempfile
import unittest

import e2e

try:
    import h5py
except ImportError:
    h5py = None


def samples(path):
    """Every measured number of every point, by table and column. Marks are
    left out: they tell when, and not how long."""
    found = {}
    with h5py.File(path, "r") as file:
        for point in file["points"].values():
            index = int(point["point"]["index"][0])
            found[index] = [point["step_ns"][()].tobytes(),
                            point["blocks"][()].tobytes(),
                            point["terms"][()].tobytes(),
                            point["ranks"]["excess_ns"].tobytes(),
                            point["point"]["status"][0],
                            int(point["point"]["plan_hash"][0])]
    return found


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.whole = cls.folder + "/whole.h5"
        code, _, err = e2e.run(["run", *e2e.PACED, "--out", cls.whole], 4)
        assert code == 0, err

    def broken(self, name, how):
        """A run that ends early; the path of its result."""
        out = f"{self.folder}/{name}.h5"
        job = e2e.Job(["run", *e2e.PACED, "--out", out], 4)
        self.addCleanup(job.__exit__)
        self.assertTrue(e2e.wait_for(
            lambda: len(e2e.finished_parts(out + ".part")) >= 4))
        how(job)
        self.assertIsNotNone(job.wait(20))
        self.assertEqual(job.remains(), [])
        self.said = job.stderr()
        return out

    @staticmethod
    def kill(job):
        for pid in job.pids():
            e2e.kill(pid, signal.SIGKILL)

    @staticmethod
    def stop(job):
        os.kill(job.rank_pids()[0], signal.SIGTERM)

    def resume(self, path, words=(), ranks=4):
        return e2e.run(["run", "--resume", path, *words], ranks)

    def same_as_whole(self, out):
        self.assertTrue(e2e.report(out)["run"]["complete"])
        self.assertFalse(os.path.exists(out + ".part"))
        if h5py is None:
            self.skipTest("no h5py")
        mine, whole = samples(out), samples(self.whole)
        self.assertEqual(mine.keys(), whole.keys())
        for index, numbers in whole.items():
            self.assertEqual(mine[index], numbers, f"point {index}")

    def test_after_a_kill_by_the_folder(self):
        out = self.broken("folder", self.kill)
        before = e2e.finished_parts(out + ".part")
        self.assertLess(len(before), len(e2e.report(self.whole)["points"]))
        code, _, err = self.resume(out + ".part/")
        self.assertEqual(code, 0, err)
        self.assertIn(f"resuming: {16 - len(before)} of 16 points", err)
        self.same_as_whole(out)
        code, _, err = self.resume(out)
        self.assertEqual(code, 2)
        self.assertIn("complete: nothing to resume", err)

    def test_after_two_kills_by_the_name(self):
        out = self.broken("name", self.kill)
        job = e2e.Job(["run", "--resume", out], 4)
        self.addCleanup(job.__exit__)
        self.assertTrue(e2e.wait_for(
            lambda: len(e2e.finished_parts(out + ".part")) >= 7))
        self.kill(job)
        job.wait(10)
        code, _, err = self.resume(out)
        self.assertEqual(code, 0, err)
        self.same_as_whole(out)

    def test_after_a_stop_by_the_merged_file(self):
        out = self.broken("merged", self.stop)
        self.assertTrue(os.path.exists(out), self.said)
        code, _, err = self.resume(out)
        self.assertEqual(code, 0, err)
        self.same_as_whole(out)
        self.assertFalse(e2e.report(out + ".before")["run"]["complete"])

    def refused(self, path, pattern, *words, ranks=4):
        parts = e2e.finished_parts(path + ".part")
        code, _, err = self.resume(path, words, ranks)
        self.assertEqual(code, 2, err)
        self.assertRegex(err, pattern)
        self.assertEqual(e2e.finished_parts(path + ".part"), parts)

    def test_what_differs_is_refused(self):
        out = self.broken("differs", self.kill)
        self.refused(out, r"model\.hidden is 128 now and was 256",
                     "model.hidden=128")
        self.refused(out, r"and 1 more\)", "model.hidden=128",
                     "measure.seed=2")
        self.refused(out, "the engine is host now and was null", "--engine",
                     "host")
        self.refused(out, "number of ranks is 3 now and was 4", ranks=3)
        self.refused(out, "leave --out away", "--out", "other.h5")
        self.refused(self.folder + "/none.h5", "none.h5")
        # what changes no number may differ
        code, _, err = self.resume(out, ["measure.budget=30min",
                                         "deadline.block=40s"])
        self.assertEqual(code, 0, err)
        self.same_as_whole(out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
