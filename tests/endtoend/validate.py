#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`stepscale validate`: three stages, two files of one run, the worst code."""
import os
import shutil
import tempfile
import unittest

import e2e

QUICK = e2e.SMALL + ["measure.budget=8s"]


class Validate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "r.h5")
        self.probe = os.path.join(self.folder, "r-probe.h5")

    def validate(self, *words, ranks=2, **more):
        # two ranks of one host that share cores may differ by chance
        return e2e.run(["validate", *QUICK, "rules.min_effect_link=1.0", *words,
                        "--out", self.out], ranks, **more)

    def test_a_good_machine(self):
        code, out, err = self.validate()
        self.assertRegex(out, r"(?m)^validate: \w+ \(check: pass; probe: \w+; "
                              r"run: pass\), run ")
        self.assertIn(code, (0, 10, 11), err)
        self.assertRegex(err, "check: 1 node, ")
        probe, run = e2e.report(self.probe), e2e.report(self.out)
        self.assertEqual(probe["run"]["id"], run["run"]["id"])
        self.assertIn(run["run"]["id"], out)
        self.assertEqual(code, max((probe["verdict"]["exit_code"],
                                    run["verdict"]["exit_code"]),
                                   key=[0, 11, 12, 10, 13].index))
        self.assertTrue(probe["pairs"])
        self.assertTrue(run["points"])

    def test_a_fault_of_the_run(self):
        code, out, err = self.validate("null.slow_rank=1",
                                       "measure.min_blocks=12",
                                       "measure.max_blocks=12")
        self.assertEqual(code, 10, err)
        self.assertRegex(out, r"(?m)^validate: fail .*run: fail")

    def test_one_rank(self):
        code, out, err = self.validate(ranks=1)
        self.assertEqual(code, 0, err)
        self.assertIn("one rank has no pairs", err)
        self.assertTrue(os.path.exists(self.out))
        self.assertFalse(os.path.exists(self.probe))

    def test_a_node_that_is_not_fit(self):
        """Nothing is measured."""
        port = os.path.join(self.folder, "sys/class/infiniband/mlx5_0/ports/1")
        os.makedirs(port)
        for name, text in (("state", "1: DOWN"), ("phys_state", "2: Polling"),
                           ("rate", "400 Gb/sec (4X NDR)"),
                           ("link_layer", "InfiniBand")):
            with open(os.path.join(port, name), "w") as file:
                file.write(text + "\n")
        code, out, err = self.validate(
            env={"STEPSCALE_SYS": os.path.join(self.folder, "sys")})
        self.assertEqual(code, 10, err)
        self.assertIn("this node is not fit: ", err)
        self.assertIn("mlx5_0", err)
        self.assertRegex(out, r"(?m)^validate: fail \(check: fail; probe: not "
                              r"begun; run: not begun\)")
        self.assertFalse(os.path.exists(self.out + ".part"))

    def test_a_dry_run(self):
        code, out, err = self.validate("--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn("rounds of", out)
        self.assertIn("points", out)
        self.assertEqual(os.listdir(self.folder), [])

    def test_files_of_an_earlier_run(self):
        os.mkdir(self.probe + ".part")
        code, _, err = self.validate()
        self.assertEqual(code, 2, err)
        self.assertIn("r-probe.h5", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
