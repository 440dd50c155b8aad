#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Disks as clusters have them: full, read-only, without locks. What was
finished stays readable, the message says what to do, and --resume goes on once
that is done. 77: no mounts here."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import e2e

# Of 3 MB: so much is left, for some points but not for all.
ROOM = 600_000


def mount(*words):
    return subprocess.run(["mount", *words], capture_output=True).returncode


class Disks(unittest.TestCase):
    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="ss-disk-")
        self.addCleanup(shutil.rmtree, self.disk, ignore_errors=True)
        self.assertEqual(mount("-t", "tmpfs", "-o", "size=3m", "tmpfs",
                               self.disk), 0)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk])
        self.out = self.disk + "/r.h5"
        self.part = self.out + ".part"

    def run_on(self, words, **more):
        return e2e.run(["run", *words, "--out", self.out], 4, limit=120,
                       **more)

    def kept(self):
        """Points of the report, which must be all that were finished."""
        points = e2e.report(self.part)["points"]
        self.assertEqual(len(points), len(e2e.finished_parts(self.part)))
        self.assertGreater(len(points), 0)
        return points

    def goes_on(self, before):
        """--resume ends it; what was finished is as it was."""
        code, _, err = e2e.run(["run", "--resume", self.part,
                                "out.format=none"], 4, limit=120)
        self.assertIn(code, (0, 10, 11), err)
        result = e2e.report(self.out)
        self.assertTrue(result["run"]["complete"])
        for point in before:
            self.assertIn(point, result["points"])
        self.assertGreater(len(result["points"]), len(before))

    def test_full_in_the_middle(self):
        ballast = self.disk + "/ballast"
        with open(ballast, "wb") as file:
            file.write(bytes(3 * 1024 * 1024 - ROOM))
        code, _, err = self.run_on(e2e.MANY)
        self.assertEqual(code, 12, err)
        self.assertRegex(err, "(?i)no space left on device")
        before = self.kept()
        os.remove(ballast)
        self.goes_on(before)

    def test_read_only(self):
        self.assertEqual(mount("-o", "remount,ro", self.disk), 0)
        code, _, err = self.run_on(e2e.SMALL)
        self.assertEqual(code, 12, err)
        self.assertRegex(err, "(?i)read-only file system")
        self.assertIn("--out", err)

    def test_read_only_in_the_middle(self):
        job = e2e.Job(["run", *e2e.PACED, "--out", self.out], 4)
        self.addCleanup(job.__exit__)
        self.assertTrue(e2e.wait_for(
            lambda: len(e2e.finished_parts(self.part)) >= 2, 60), job.stderr())
        until = time.monotonic() + 10
        while mount("-o", "remount,ro", self.disk) != 0:  # busy in a write
            self.assertLess(time.monotonic(), until)
        self.assertEqual(job.wait(60), 12, job.stderr())
        self.assertRegex(job.stderr(), "(?i)read-only file system")
        before = self.kept()
        self.assertEqual(mount("-o", "remount,rw", self.disk), 0)
        self.goes_on(before)

    def test_without_locks(self):
        preload = os.environ["NO_LOCKS"]
        code, _, err = self.run_on(e2e.MANY, preload=preload)
        self.assertEqual(code, 0, err)
        self.assertTrue(e2e.report(self.out)["run"]["complete"])
        code, out, err = e2e.run(["report", self.out], preload=preload)
        self.assertEqual(code, 0, err)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: mounts need root")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        if mount("-t", "tmpfs", "tmpfs", folder) != 0:
            print("skipped: mounts are not allowed here")
            sys.exit(77)
        subprocess.run(["umount", folder])
    unittest.main(verbosity=2)
