#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on 4 virtual hosts. sbatch, srun --mpi=pmix and stepscale-mpirun
within a job give the same points; scancel and (--full) the time limit end a job
in order; drain.sh drains exactly the slow host. 77: cannot run here."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import e2e

ROOT = os.path.realpath(os.path.join(e2e.HERE, "..", ".."))
VCLUSTER = os.path.join(ROOT, "tests", "cluster", "vcluster")
BATCH = os.path.join(ROOT, "slurm", "stepscale.sbatch")
FULL = "--full" in sys.argv


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def munge_answers():
    return subprocess.run(["munge", "-n"], capture_output=True).returncode == 0


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ss-slurm-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.environ["VCLUSTER_DIR"] = cls.folder + "/cluster"
        cls.own_munge = not munge_answers()
        if subprocess.run([VCLUSTER, "up", "4"]).returncode != 0:
            skip("no virtual hosts here")
        cls.addClassCleanup(cls.down)
        started = subprocess.run([VCLUSTER, "slurm"], capture_output=True,
                                 text=True, timeout=180)
        if started.returncode != 0:
            sys.exit("Slurm does not start: " + started.stderr)
        os.environ.update(
            SLURM_CONF=os.environ["VCLUSTER_DIR"] + "/slurm.conf",
            UCX_TLS="tcp,self", UCX_NET_DEVICES="eth0",
            OMPI_MCA_pml="ob1", OMPI_MCA_btl="tcp,self",
            OMPI_MCA_btl_tcp_if_include="eth0",
            OMPI_MCA_oob_tcp_if_include="eth0",
            OMPI_MCA_mpi_yield_when_idle="1", SLURM_PMIX_FENCE="tree",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            STEPSCALE=e2e.PROGRAM, STEPSCALE_SHARE=ROOT)

    @classmethod
    def down(cls):
        subprocess.run([VCLUSTER, "down"])
        if cls.own_munge:
            try:
                with open("/run/munge/munged.pid") as file:
                    os.kill(int(file.read()), 15)
            except OSError:
                pass

    def on_n1(self, *words, limit=200, code=0, told=None):
        done = subprocess.run([VCLUSTER, "run", "n1", *words], text=True,
                              capture_output=True, timeout=limit,
                              cwd=self.folder)
        if code is not None and done.returncode != code:
            if told and os.path.exists(told):
                with open(told) as file:
                    print(file.read(), flush=True)
            self.fail(f"{words}: code {done.returncode}, not {code}\n"
                      f"{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def sbatch(self, name, *words, wait=True, code=0, time_limit="5"):
        return self.on_n1(
            "sbatch", "--parsable", *(["--wait"] if wait else []), "--nodes=4",
            "--ntasks-per-node=1", f"--time={time_limit}",
            f"--output={self.folder}/{name}.out", *words, code=code,
            told=f"{self.folder}/{name}.out")

    def out(self, name):
        return f"{self.folder}/{name}.h5"

    def said(self, name):
        try:
            with open(f"{self.folder}/{name}.out") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def points(self, name):
        """What must not depend on the launcher."""
        result = e2e.report(self.out(name))
        self.assertEqual(result["run"]["nodes"], ["n1", "n2", "n3", "n4"])
        self.assertTrue(result["run"]["complete"])
        return [(p["mode"], p["size"], p["groups"], p["step_ms"],
                 p["efficiency"], p["transfer_ms"], p["status"])
                for p in result["points"]]

    def middle(self, name, job):
        """Waits for two points of a job that must not be over by then."""
        part = self.out(name) + ".part"
        until = time.monotonic() + 120
        while len(e2e.finished_parts(part)) < 2:
            self.assertTrue(self.is_alive(job), self.said(name))
            self.assertLess(time.monotonic(), until, "no point in time")
            time.sleep(0.1)

    def is_alive(self, job):
        shown = self.on_n1("scontrol", "show", "job", job)
        return any(f"JobState={state}" in shown for state in
                   ("RUNNING", "COMPLETING", "PENDING", "CONFIGURING"))

    def ended(self, job, limit):
        """The exit code of a batch job, once it is over."""
        self.assertTrue(e2e.wait_for(lambda: not self.is_alive(job), limit),
                        f"job {job} is not over in {limit} s")
        shown = self.on_n1("scontrol", "show", "job", job)
        return int(shown.split("ExitCode=")[1].split(":")[0])

    def test_three_ways_give_the_same_points(self):
        self.sbatch("batch", BATCH, *e2e.SMALL, "--out", self.out("batch"))
        self.on_n1("srun", "--nodes=4", "--ntasks-per-node=1", "--mpi=pmix",
                   "--kill-on-bad-exit=1", e2e.PROGRAM, "run", *e2e.SMALL, "--out", self.out("srun"))
        with open(self.folder + "/job.sh", "w") as file:
            file.write(f'#!/bin/bash\nexec {ROOT}/launch/stepscale-mpirun '
                       '"$@"\n')
        self.sbatch("mpirun", self.folder + "/job.sh", *e2e.SMALL, "--out",
                    self.out("mpirun"))
        batch = self.points("batch")
        self.assertGreater(len(batch), 3)
        self.assertEqual(batch, self.points("srun"))
        self.assertEqual(batch, self.points("mpirun"))

    def stopped(self, name, code):
        self.assertEqual(code, 11, self.said(name))
        result = e2e.report(self.out(name))
        self.assertFalse(result["run"]["complete"])
        self.assertGreater(len(result["points"]), 0)
        self.assertRegex(" ".join(result["verdict"]["reasons"]),
                         r"stopped by SIG\w+ after \d+ of \d+ points")

    def test_scancel(self):
        job = self.sbatch("cancel", BATCH, *e2e.PACED, "--out",
                          self.out("cancel"), wait=False)
        self.middle("cancel", job)
        self.on_n1("scancel", job)
        self.stopped("cancel", self.ended(job, 120))

    def test_a_killed_task(self):
        """Code 13, from the batch file; a plain srun would say 137."""
        job = self.sbatch("killed", BATCH, *e2e.PACED, "--out",
                          self.out("killed"), wait=False)
        self.middle("killed", job)
        mine = [pid for pid in os.listdir("/proc") if pid.isdigit()
                and self.is_rank(pid, "2", self.out("killed"))]
        self.assertEqual(len(mine), 1)
        os.kill(int(mine[0]), 9)
        self.assertEqual(self.ended(job, 120), 13, self.said("killed"))
        self.assertGreater(len(e2e.report(
            self.out("killed") + ".part")["points"]), 1)

    @staticmethod
    def is_rank(pid, rank, out):
        try:
            with open(f"/proc/{pid}/environ") as file:
                mine = f"\0SLURM_PROCID={rank}\0" in "\0" + file.read()
            with open(f"/proc/{pid}/cmdline") as file:
                return mine and out in file.read() and os.path.realpath(
                    f"/proc/{pid}/exe") == os.path.realpath(e2e.PROGRAM)
        except OSError:
            return False

    def test_drain(self):
        self.sbatch("slow", BATCH, *e2e.SMALL, "measure.min_blocks=12",
                    "measure.max_blocks=12", "null.slow_rank=2", "--out",
                    self.out("slow"), code=10)
        drain = ["env", "STEPSCALE_DRAIN_NULL=1", ROOT + "/slurm/drain.sh",
                 self.out("slow")]
        printed = self.on_n1(*drain)
        self.assertRegex(printed, r"^n3 stepscale \w+: ")
        self.assertEqual(len(printed.splitlines()), 1)
        self.assertNotIn("DRAIN", self.on_n1("sinfo", "-h", "-o", "%T"))
        run = json.loads(subprocess.check_output(
            [e2e.PROGRAM, "report", self.out("slow"), "--format", "json"]))
        self.on_n1(*drain, "--run", run["run"]["id"], "--yes")
        self.addCleanup(self.on_n1, "scontrol", "update", "NodeName=n3",
                        "State=RESUME")
        self.assertEqual(self.on_n1("sinfo", "-h", "-R", "-o", "%N|%E"),
                         "n3|" + printed.split(" ", 1)[1])

    # Found, not yet understood: under srun a pair of the probe may stand
    # still over UCX, and the watchdog ends the job with 13.
    @unittest.skipUnless(FULL, "a probe under srun may hang over UCX: --full")
    def test_validate(self):
        self.sbatch("valid", BATCH, "validate", "--budget", "20s", *e2e.SMALL,
                    "measure.budget=20s", "--out", self.out("valid"))
        self.assertRegex(self.said("valid"), "(?m)^validate: pass ")
        probe, run = (e2e.report(self.out(name))
                      for name in ("valid-probe", "valid"))
        self.assertEqual(probe["run"]["id"], run["run"]["id"])
        self.assertEqual(len({(p["a"], p["b"]) for p in probe["pairs"]}), 12)

    @unittest.skipUnless(FULL, "measures shaped links: --full")
    def test_drain_after_a_probe(self):
        for host in ("n1", "n2", "n3", "n4"):
            rate = "80mbit" if host == "n3" else "400mbit"
            subprocess.run([VCLUSTER, "limit", host, rate], check=True)
            self.addCleanup(subprocess.run,
                            [VCLUSTER, "limit", host, "10gbit"])
        probe = os.path.join(ROOT, "slurm", "probe.sbatch")
        self.sbatch("links", probe, "--budget", "40s", "--out",
                    self.out("links"), code=10)
        printed = self.on_n1(ROOT + "/slurm/drain.sh", self.out("links"))
        self.assertEqual(len(printed.splitlines()), 1, printed)
        self.assertRegex(printed, r"^n3 stepscale \w+: ")
        run = e2e.report(self.out("links"))["run"]["id"]
        self.on_n1(ROOT + "/slurm/drain.sh", self.out("links"), "--run", run,
                   "--yes")
        self.addCleanup(self.on_n1, "scontrol", "update", "NodeName=n3",
                        "State=RESUME")
        self.assertEqual(self.on_n1("sinfo", "-h", "-R", "-o", "%N|%E"),
                         "n3|" + printed.split(" ", 1)[1])

    @unittest.skipUnless(FULL, "a minute and more: --full")
    def test_the_time_limit(self):
        job = self.sbatch("limit", BATCH, *e2e.PACED, "null.gemm_ms=8",
                          "measure.min_blocks=40", "measure.max_blocks=40",
                          "--out", self.out("limit"), wait=False,
                          time_limit="1")
        self.stopped("limit", self.ended(job, 240))


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("virtual hosts need root")
    for tool in ("ip", "slurmctld", "slurmd", "munge", "jq", "mpirun"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin"):
            skip("no " + tool)
    unittest.main(verbosity=2, argv=[a for a in sys.argv if a != "--full"])
