# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

"""Tuner tables are checked and converted."""

import hashlib
import os
import unittest

from program_test_case import ProgramTest, read_json

TABLE = """# ncclprobe tuner table: 1
# gpu: NVIDIA H200
# nccl: 2.30.7
collective,min_bytes,max_bytes,ranks,nodes,nvlink_domains,algorithm,protocol,channels,min_us,max_us
all_reduce,1024,2047,8,1,1x8,Ring,LL128,16,,
all_reduce,2048,4096,8,1,1x8,Tree,Simple,24,,
"""
BROADCAST = "broadcast,1024,1024,8,1,any,Tree,LL,4,,\n"


class Tuner(ProgramTest):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def checked(self, *arguments, code=0, **environment):
        done = self.run_program("tuner", "check", *arguments, "--format", "json", **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        return read_json(done.stdout)

    def test_rows_are_checked(self):
        table = self.write("table.csv", TABLE)
        digest = hashlib.sha256(TABLE.encode()).hexdigest()
        hits = self.write("hits.csv", f"# ncclprobe tuner hits: 1\n# sha256: {digest}\n# without_row: 5\n"
                          "# set_aside: 1\nrow,applied,impossible\n1,20,0\n2,0,0\n")

        plain = self.checked(table)
        self.assertEqual([row["state"] for row in plain["rows"]], ["unchecked", "unchecked"])
        self.assertEqual(plain["reference"], f"{table}@{digest}")
        os.chmod(table, 0o666)
        self.assertIn("may be written by every user", self.run_program("tuner", "check", table).stderr)
        os.chmod(table, 0o644)
        counted = self.checked(table, "--hits", hits)
        self.assertEqual([(row["state"], row["calls"]) for row in counted["rows"]], [("hit", 20), ("never", 0)])
        self.assertEqual((counted["without_row"], counted["set_aside"]), (5, 1))
        beaten = self.checked(table, code=9, NCCL_ALGO="Ring")
        self.assertEqual([row["state"] for row in beaten["rows"]], ["unchecked", "overridden"])
        settings = self.write("nccl.conf", "NCCL_ALGO=Ring\n")
        self.assertEqual(self.checked(table, code=9, NCCL_CONF_FILE=settings)["rows"], beaten["rows"])
        small = self.checked(table, "--ranks", "4", code=9)
        self.assertEqual({row["state"] for row in small["rows"]}, {"impossible"})
        self.assertEqual(self.run_program("tuner", "check", table, "--ranks", "8", "--nodes", "9").returncode, 2)
        other = self.write("other.csv", TABLE + BROADCAST)
        self.assertEqual(self.checked(other, code=9)["rows"][2]["state"], "impossible")
        wrong = self.run_program("tuner", "check", other, "--hits", hits)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("another table", wrong.stderr)

    def test_a_run_without_the_table_is_told(self):
        table = self.write("table.csv", TABLE)
        self.measure("--backend", "synthetic", "--sizes", "1K", "--no-sweep")
        rows = self.checked(table, "--against", str(self.run_file), code=9)["rows"]
        self.assertEqual({row["state"] for row in rows}, {"overridden"})

    def test_a_fault_of_a_table_is_named_with_its_line(self):
        done = self.run_program("tuner", "check", self.write("table.csv", TABLE.replace("LL128", "LL129")))
        self.assertEqual(done.returncode, 2)
        self.assertIn("table.csv:5: protocol: 'LL129'", done.stderr)

    def test_tables_convert_from_and_to_the_example_tuner(self):
        table = self.write("table.csv", TABLE)
        other, back = (str(self.folder / name) for name in ("nccl_tuner.conf", "back.csv"))
        done = self.run_program("tuner", "convert", table, other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("forces one channel", done.stderr)
        self.assertEqual(self.run_program("tuner", "convert", other, back).returncode, 0)
        for before, after in zip(self.checked(table)["rows"], self.checked(back)["rows"]):
            self.assertEqual(dict(before, nvlink_domains=None), after)
        self.assertEqual(self.run_program("tuner", "convert", table, other).returncode, 2)
        self.assertEqual(self.run_program("tuner", "convert", table, other, "--force").returncode, 0)
        keeps = self.write("keeps.csv", TABLE.replace(",24,", ",-1,"))
        refused = self.run_program("tuner", "convert", keeps, "x.conf")
        self.assertEqual(refused.returncode, 2)
        self.assertFalse((self.folder / "x.conf").exists())


if __name__ == "__main__":
    unittest.main()
