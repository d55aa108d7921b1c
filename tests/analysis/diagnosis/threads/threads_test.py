# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""The log lines made after public threads are complete, and the first set is halved as the draw gives it."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import split

KEBAB_CASE = r"^[a-z0-9]+(-[a-z0-9]+)*$"


def causes_of(entry):
    return [entry["cause"]] if isinstance(entry["cause"], str) else entry["cause"]


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.development, cls.held_out = split.read(split.DEVELOPMENT), split.read(split.HELD_OUT)
        cls.entries = cls.development + cls.held_out
        cls.causes = split.read(split.HERE / "causes.json")
        cls.second, cls.third = split.read(split.HERE / "second.json"), split.read(split.HERE / "third.json")
        cls.later = cls.second + cls.third
        cls.healthy = split.read(split.HERE / "healthy.json")
        cls.second_healthy = split.read(split.HERE / "second_healthy.json")
        cls.third_healthy = split.read(split.HERE / "third_healthy.json")
        cls.later_healthy = cls.second_healthy + cls.third_healthy

    def test_no_id_is_used_twice(self):
        for records in (self.entries + self.later, self.causes, self.healthy + self.later_healthy):
            ids = [record["id"] for record in records]
            self.assertEqual(len(ids), len(set(ids)))

    def test_every_record_has_its_fields(self):
        fields = {"id", "source", "resolution", "cause", "certain", "text"}
        for entry in self.entries + self.later:
            self.assertEqual(set(entry), fields, entry["id"])
            self.assertIsInstance(entry["certain"], bool, entry["id"])
            self.assertTrue(1 <= len(entry["text"]) <= 25, entry["id"])
        for cause in self.causes:
            self.assertEqual(set(cause), {"id", "cause", "remedy", "source"}, cause["id"])
            self.assertRegex(cause["id"], KEBAB_CASE)
        for log in self.healthy + self.later_healthy:
            self.assertEqual(set(log), {"id", "source", "text"}, log["id"])
            self.assertTrue(1 <= len(log["text"]) <= 25, log["id"])
        for record in self.entries + self.later + self.causes + self.healthy + self.later_healthy:
            self.assertRegex(record["source"], r"^https://[^ ]+$", record["id"])

    def test_every_cause_named_is_in_the_catalogue(self):
        known = {cause["id"] for cause in self.causes}
        for entry in self.entries + self.later:
            self.assertLessEqual(set(causes_of(entry)), known, entry["id"])

    def test_only_an_uncertain_entry_of_a_later_set_may_have_no_cause(self):
        for entry in self.entries:
            self.assertTrue(causes_of(entry), entry["id"])
        for entry in self.later:
            self.assertTrue(causes_of(entry) or not entry["certain"], entry["id"])

    def test_there_are_enough_of_each_kind(self):
        self.assertGreaterEqual(len(self.entries), 200)
        self.assertGreaterEqual(len({cause for entry in self.entries for cause in causes_of(entry)}), 40)
        self.assertGreaterEqual(len({entry["source"] for entry in self.entries}), 100)
        self.assertGreaterEqual(len(self.healthy), 50)
        self.assertGreaterEqual(len(self.second), 140)
        self.assertGreaterEqual(len(self.second_healthy), 16)
        self.assertGreaterEqual(len(self.third), 80)
        self.assertGreaterEqual(len(self.third_healthy), 20)

    def test_the_halves_are_equal_and_as_drawn(self):
        self.assertEqual(len(self.development), len(self.held_out))
        self.assertEqual(split.draw(self.entries), (self.development, self.held_out))

    def test_no_thread_is_in_both_halves(self):
        self.assertFalse({split.thread_of(entry) for entry in self.development} &
                         {split.thread_of(entry) for entry in self.held_out})

    def test_no_thread_is_in_two_sets(self):
        sets = [{record["source"] for record in records}
                for records in (self.entries + self.healthy, self.second + self.second_healthy,
                                self.third + self.third_healthy)]
        self.assertEqual(len(set.union(*sets)), sum(len(one) for one in sets))


if __name__ == "__main__":
    unittest.main()
