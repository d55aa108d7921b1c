// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/error_entries.h"
#include "knowledge/health_codes.h"
#include "support/catch.h"

#include <re2/re2.h>

#include <set>

namespace ncclprobe::knowledge {

TEST_CASE("every error entry is complete, and its name is its own") {
  std::set<std::string> ids;
  for (const ErrorEntry& one : error_entries()) {
    INFO(one.id);
    CHECK(ids.insert(one.id).second);
    CHECK_FALSE(one.title.empty());
    CHECK_FALSE(one.layer.empty());
    CHECK_FALSE(one.root_causes.empty());
    CHECK_FALSE(one.fix.empty());
    CHECK_FALSE(one.sources.empty());
    CHECK_FALSE((one.match.empty() && one.weak_match.empty() && one.symptom.empty()));
  }
  // 63 as researched, and what was added.
  CHECK(ids.size() > 63);
}

TEST_CASE("every expression of an error entry compiles") {
  for (const ErrorEntry& one : error_entries())
    for (const auto* list : {&one.match, &one.weak_match})
      for (const std::string& pattern : *list) {
        INFO(one.id << ": " << pattern);
        CHECK(RE2(pattern, RE2::Quiet).ok());
      }
}

TEST_CASE("NCCL's refusal to reduce FP8 is known by its line") {
  for (const ErrorEntry& one : error_entries())
    if (one.id == "fp8_reduction") {
      CHECK(RE2::PartialMatch("FP8 reduction support begins with sm90 capable devices.",
                              one.match.front()));
      return;
    }
  FAIL("no entry");
}

TEST_CASE("advice names commands, not the tables that ours is made of") {
  for (const knowledge::ErrorEntry& entry : knowledge::error_entries())
    for (const auto* list : {&entry.root_causes, &entry.confirm, &entry.fix, &entry.avoid})
      for (const std::string& text : *list)
        for (const char* table : {"cuda_toolkits", "pytorch_wheels", "nccl_versions", "gpu_models",
                                  "feature_chains", "plugin_api", "minor_compat_min"}) {
          INFO(entry.id << ": " << text);
          CHECK_THAT(text, !ContainsSubstring(table));
        }
}

TEST_CASE("every Xid of the table is known by its line in the kernel log") {
  for (const Xid& xid : xids()) {
    std::string line =
        fmt::format("NVRM: Xid (PCI:0000:41:00): {}, pid=1234, name=python", xid.number);
    INFO(line);
    int found = 0;
    for (const ErrorEntry& one : error_entries())
      for (const std::string& pattern : one.match)
        found += RE2::PartialMatch(line, RE2(pattern));
    CHECK(found == 1);
  }
}

} // namespace ncclprobe::knowledge
