#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a probe must say of planted faults that need no slow link: wrong
results of collectives; ports and rails from planted sysfs trees. On one
machine, under real MPI; nodes are ranks with a host name of their own."""
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

import e2e

QUICK = ("probe probe.pairs=device probe.ucx=no probe.sizes=64k "
         "probe.coll_sizes=8,64k measure.budget=300ms out.format=none").split()


# Each rank as a host of its own name: hosts are told apart by that.
NODE = ("#!/bin/sh\nexec unshare -u sh -c 'hostname n$OMPI_COMM_WORLD_RANK; "
        "exec \"$SS_PROGRAM\" \"$@\"' sh \"$@\"\n")


def may_unshare():
    return subprocess.call(["unshare", "-u", "hostname", "x"],
                           stderr=subprocess.DEVNULL) == 0


class Tree:
    """A planted /sys: two RDMA ports and an Ethernet interface."""

    def __init__(self, root):
        self.root = root
        for device in "mlx5_0", "mlx5_1":
            self.port(device, "state", "4: ACTIVE")
            self.port(device, "phys_state", "5: LinkUp")
            self.port(device, "rate", "200 Gb/sec (4X HDR)")
            self.port(device, "link_layer", "InfiniBand")
            for name in ("port_rcv_data", "port_xmit_data", "symbol_error",
                         "link_downed", "port_rcv_errors"):
                self.port(device, "counters/" + name, "1000")
            for name in "current_link_width", "max_link_width":
                self.put(f"class/infiniband/{device}/device/{name}", "16")
        for name in "rx_bytes", "tx_bytes":
            self.put("class/net/eth0/statistics/" + name, "5000")

    def put(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w") as file:
            file.write(text + "\n")
        os.rename(path + ".new", path)

    def port(self, device, name, text):
        self.put(f"class/infiniband/{device}/ports/1/{name}", text)


class Growing(threading.Thread):
    """Raises counters of a tree while a probe runs."""

    def __init__(self, step):
        super().__init__(daemon=True)
        self.step, self.over = step, threading.Event()

    def run(self):
        n = 0
        while not self.over.wait(0.02):
            n += 1
            self.step(n)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


class Facts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "p.h5")

    def probe(self, words, ranks=3, env=None, program=None):
        """The report of a probe, and its code."""
        with e2e.Job(QUICK + list(words) + ["--out", self.out], ranks,
                     env=env, program=program) as job:
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
        # one pair: more ranks share cores here, and then a rank may look slow
        result, code = self.probe([], ranks=2)
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

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a device")
    def test_a_failure_names_its_stage(self):
        result, code = self.probe(["probe.library=nccl"], ranks=2)
        self.assertEqual(code, 12)
        self.assertFalse(result["run"]["complete"])
        self.assertEqual(len(result["pairs"]) > 0, True)  # kept
        self.assertIn("in the collectives, after 2 of 3 passes",
                      " ".join(result["verdict"]["reasons"]))

    # --- planted trees ---------------------------------------------------

    def planted(self, change=None, grow=None, nodes=False):
        """Findings by kind of a probe over a planted tree."""
        tree = Tree(os.path.join(self.folder, "sys"))
        if change:
            change(tree)
        words = ["probe.ops=none"]
        env = {"STEPSCALE_SYS": tree.root}
        program = None
        if nodes:
            if not may_unshare():
                self.skipTest("may not give ranks host names of their own")
            program = os.path.join(self.folder, "node.sh")
            with open(program, "w") as file:
                file.write(NODE)
            os.chmod(program, 0o755)
            words += ["probe.pairs=node", "probe.sizes=4M",
                      "measure.budget=2s"]
            env["SS_PROGRAM"] = e2e.PROGRAM
        with Growing(lambda n: grow and grow(tree, n)):
            result, code = self.probe(words, 2, env, program)
        kinds = {}
        for f in result["findings"]:
            normal = f["kind"] in ("env_drift", "shared_cores")
            if not normal and not f["kind"].startswith("slow"):
                kinds.setdefault(f["kind"], []).append(f)
        return kinds, code

    def test_a_healthy_tree(self):
        kinds, code = self.planted()
        self.assertEqual((kinds, code), ({}, 0))

    def test_a_port_that_is_down(self):
        def change(tree):
            tree.port("mlx5_1", "state", "1: DOWN")
            tree.port("mlx5_1", "phys_state", "2: Polling")
        kinds, _ = self.planted(change)
        self.assertEqual(list(kinds), ["port_down"])
        culprit = kinds["port_down"][0]["culprit"]
        self.assertEqual((culprit["link"], culprit["value"]),
                         ("mlx5_1/1", "DOWN"))

    def test_a_port_that_trained_down(self):
        kinds, code = self.planted(
            lambda t: t.port("mlx5_1", "rate", "50 Gb/sec (1X HDR)"))
        self.assertEqual((list(kinds), code), (["port_rate"], 10))
        self.assertEqual(kinds["port_rate"][0]["factor"], 4)

    def test_a_slot_with_fewer_lanes(self):
        kinds, _ = self.planted(lambda t: t.put(
            "class/infiniband/mlx5_0/device/current_link_width", "8"))
        self.assertEqual(list(kinds), ["port_rate"])
        self.assertIn("8 of 16 PCIe lanes", kinds["port_rate"][0]["evidence"])

    def test_errors_that_rise_during_the_probe(self):
        kinds, _ = self.planted(grow=lambda t, n: t.port(
            "mlx5_0", "counters/symbol_error", str(1000 + n)))
        self.assertEqual(list(kinds), ["port_errors"])
        self.assertRegex(kinds["port_errors"][0]["evidence"],
                         r"mlx5_0/1 on \S+ rose .*: symbol_error \+\d+$")

    def test_bytes_over_sockets_beside_active_ports(self):
        kinds, code = self.planted(
            grow=lambda t, n: t.put("class/net/eth0/statistics/tx_bytes",
                                    str(5000 + 10**11 * n)), nodes=True)
        self.assertEqual(list(kinds), ["socket_fallback"])
        self.assertEqual(code, 10)
        evidence = kinds["socket_fallback"][0]["evidence"]
        self.assertIn("left by eth0", evidence)
        self.assertIn("2 ports are active: mlx5_0/1 mlx5_1/1", evidence)

    def test_a_rail_without_traffic(self):
        kinds, _ = self.planted(
            grow=lambda t, n: t.port("mlx5_0", "counters/port_xmit_data",
                                     str(1000 + 10**9 * n)), nodes=True)
        self.assertEqual(list(kinds), ["idle_rail"])
        self.assertEqual({f["culprit"]["node"] for f in kinds["idle_rail"]},
                         {"n0", "n1"})
        self.assertEqual(kinds["idle_rail"][0]["culprit"]["rail"], "mlx5_1/1")


if __name__ == "__main__":
    unittest.main()
