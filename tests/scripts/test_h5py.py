#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test_h5py.py WRITE_PARTS: a result opens in h5py and pandas as documented.

Named columns, descriptions, texts, types and values are checked on what the
store wrote, without any of its code.
"""
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy
    import pandas
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

WRITE_PARTS = sys.argv.pop(1)
RANKS, BLOCKS, STEPS = 4, 9, 5
TABLES = ["point", "ranks", "blocks", "terms", "net", "checks"]


class Result(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        out = os.path.join(cls.folder.name, "a.h5")
        subprocess.run([WRITE_PARTS, out, "2", str(RANKS), "merge"],
                       check=True, stdout=subprocess.DEVNULL)
        parts = os.path.join(cls.folder.name, "b.h5")
        subprocess.run([WRITE_PARTS, parts, "2", str(RANKS)],
                       check=True, stdout=subprocess.DEVNULL)
        cls.file = h5py.File(out, "r")
        cls.part = h5py.File(parts + ".part/0001.h5", "r")

    @classmethod
    def tearDownClass(cls):
        cls.file.close()
        cls.part.close()
        cls.folder.cleanup()

    def test_root(self):
        attrs = self.file.attrs
        self.assertEqual(attrs["kind"], b"result")
        self.assertEqual(attrs["schema"], 1)
        self.assertEqual(attrs["complete"], 1)
        self.assertEqual(attrs["verdict_code"], 0)
        self.assertEqual(attrs["end_reason"], b"")
        self.assertEqual(self.file["verdict_json"][()], b"{}")
        self.assertEqual(sorted(self.file["points"]), ["0001", "0002"])

    def test_run(self):
        run = self.file["run"]
        self.assertEqual(run.attrs["engine"], b"null")
        self.assertEqual(run.attrs["seed"], -7)
        self.assertEqual(run.attrs["config_hash"], 0xFEDCBA9876543210)
        self.assertEqual(run["config_yaml"][()].decode(),
                         "model:\n  preset: mlp # \u00b5\n")
        self.assertEqual(len(run["nodes"]), 2)

    def test_pandas_columns(self):
        for name in TABLES:
            data = self.file["points/0001"][name]
            frame = pandas.DataFrame(data[:])
            self.assertGreater(len(frame.columns), 2, name)
            self.assertIn("description", data.attrs, name)
            for column in frame.columns:
                self.assertIn(column, data.attrs, name)
        frame = pandas.DataFrame(self.part["blocks"][:])
        self.assertEqual(list(frame.columns),
                         ["variant", "sampled", "steps", "round", "first"])
        self.assertEqual(len(frame), BLOCKS)
        self.assertEqual(int(frame.steps.sum()), BLOCKS * STEPS)

    def test_shapes_and_types(self):
        point = self.file["points/0001"]
        self.assertEqual(point["step_ns"].shape, (RANKS, BLOCKS * STEPS))
        self.assertEqual(point["step_ns"].dtype, numpy.dtype("<u4"))
        self.assertEqual(self.file["points/0002/step_ns"].dtype,
                         numpy.dtype("<u8"))
        self.assertEqual(point["block_ranks"].shape, (BLOCKS, RANKS))
        self.assertEqual(point["terms"].dtype["busy_ns"], numpy.dtype("<i8"))
        for name in TABLES + ["step_ns", "block_ranks"]:
            self.assertIsNotNone(point[name].chunks, name)
            self.assertEqual(point[name].compression, "gzip", name)
            self.assertTrue(point[name].shuffle, name)

    def test_values(self):
        steps = self.file["points/0001/step_ns"][:].astype("u8")
        self.assertTrue((steps >= 10_000_000).all())
        self.assertTrue((steps < 10_100_000).all())
        self.assertTrue((self.file["points/0002/step_ns"][:] >=
                         5_000_000_000).all())
        ranks = pandas.DataFrame(self.file["points/0001/ranks"][:])
        self.assertEqual(list(ranks["rank"]), list(range(RANKS)))

    def test_texts_end_where_they_end(self):
        """What stood behind a text in memory is not in the file."""
        curve = self.file["points/0001/point"]["curve"][0]
        self.assertTrue(curve.startswith(b"curve "), curve)
        self.assertNotIn(b"\0", curve)
        self.assertNotIn(b"xx", curve)

    def test_part_equals_group(self):
        for name in TABLES + ["step_ns", "block_ranks"]:
            self.assertEqual(self.part[name][:].tobytes(),
                             self.file["points/0001"][name][:].tobytes())


if __name__ == "__main__":
    unittest.main()
