#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a probe must say of planted faults that need no slow link: wrong
results of collectives. On one machine, under real MPI."""
import os
import shutil
import tempfile
import unittest

import e2e

QUICK = ("probe probe.pairs=device probe.ucx=no probe.sizes=64k "
         "probe.coll_sizes=8,64k measure.budget=300ms out.format=none").split()


class Facts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "p.h5")

    def probe(self, words, ranks=3, env=None):
        """The report of a probe, and its code."""
        with e2e.Job(QUICK + list(words) + ["--out", self.out], ranks,
                     env=env) as job:
            code = job.wait(100)
            self.assertIsNotNone(code, job.stderr())
            return e2e.report(self.out), code

    def findings(self, result, kind):
        return [f for f in result["findings"] if f["kind"] == kind]

    def test_a_corrupted_reduction(self):
        result, code = self.probe(["probe.corrupt=2:all_reduce:1"])
        self.assertEqual(code, 10)
        self.assertEqual(result["verdict"]["result"], "fail")
        found = self.findings(result, "corruption")
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["culprit"]["rank"], 2)
        self.assertEqual(found[0]["culprit"]["setting"], "all_reduce")
        self.assertRegex(found[0]["evidence"],
                         r"of 8 bytes, iteration 1: element \d+ is")
        wrong = {(c["op"], c["group"]) for c in result["collectives"]
                 if not c["verified"]}
        self.assertEqual(wrong, {("all_reduce", "world")})

    def test_healthy(self):
        result, code = self.probe([])
        self.assertEqual(code, 0)
        self.assertEqual(self.findings(result, "corruption"), [])
        ops = {c["op"] for c in result["collectives"]}
        self.assertEqual(ops, {"all_reduce", "all_gather", "reduce_scatter",
                               "alltoall", "broadcast", "sendrecv"})
        for c in result["collectives"]:
            self.assertTrue(c["verified"])
            self.assertGreater(c["time_us"]["median"], 0)
            self.assertGreaterEqual(c["time_us"]["n"], 6)
            if c["bytes"] > 8192:
                self.assertGreater(c["busbw_gbs"], 0)
        self.assertGreater(len(result["fits"]), 0)
        self.assertGreater(result["collectives"][0]["create_ms"], 0)

    def test_none(self):
        result, code = self.probe(["probe.ops=none"], ranks=2)
        self.assertEqual(code, 0)
        self.assertEqual(result["collectives"], [])
        self.assertTrue(result["run"]["complete"])


if __name__ == "__main__":
    unittest.main()
