// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/health_codes.h"
#include "knowledge/log_causes.h"
#include "support/catch.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

namespace ncclprobe::knowledge {

TEST_CASE("every cause has a name of its own, evidence, reasons, a check, a fix and a source") {
  std::set<std::string> ids;
  for (const LogCause& one : log_causes()) {
    INFO(one.id);
    CHECK(ids.insert(one.id).second);
    CHECK(RE2::FullMatch(one.id, "[a-z0-9]+(-[a-z0-9]+)*"));
    CHECK_FALSE(one.title.empty());
    CHECK_FALSE(one.layer.empty());
    CHECK_FALSE(one.signs.empty());
    CHECK_FALSE(one.because.empty());
    CHECK_FALSE(one.check.empty());
    CHECK_FALSE(one.fix.empty());
    REQUIRE_FALSE(one.sources.empty());
    for (const std::string& source : one.sources)
      CHECK(RE2::FullMatch(source, "https://\\S+"));
  }
  CHECK(ids.size() > 150);
}

TEST_CASE("what a cause explains is a cause too") {
  std::set<std::string> ids;
  for (const LogCause& one : log_causes())
    ids.insert(one.id);
  for (const LogCause& one : log_causes())
    for (const auto* list : {&one.explains, &one.leads_to})
      for (const std::string& other : *list) {
        INFO(one.id << " explains " << other);
        CHECK(ids.count(other) == 1);
        CHECK(other != one.id);
      }
}

TEST_CASE("every expression of a sign compiles") {
  for (const LogCause& one : log_causes())
    for (const LogSign& sign : one.signs)
      for (const std::string* pattern : {&sign.line, &sign.unless, &sign.with, &sign.without}) {
        INFO(one.id << ": " << *pattern);
        CHECK(RE2(*pattern, RE2::Quiet).ok());
      }
}

TEST_CASE("a last resort proves nothing") {
  for (const LogCause& one : log_causes())
    if (one.last_resort)
      for (const LogSign& sign : one.signs)
        CHECK_FALSE(sign.proves);
}

TEST_CASE("advice names commands, not the tables that ours is made of") {
  for (const LogCause& one : log_causes())
    for (const auto* list : {&one.because, &one.check, &one.fix, &one.avoid})
      for (const std::string& text : *list)
        for (const char* table : {"cuda_toolkits", "pytorch_wheels", "nccl_versions", "gpu_models",
                                  "feature_chains", "plugin_api", "minor_compat_min"}) {
          INFO(one.id << ": " << text);
          CHECK_THAT(text, !ContainsSubstring(table));
        }
}

TEST_CASE("the table of Xids has no gap, and each Xid that shows a cause shows one that there is") {
  int expected = 1;
  for (const XidMeaning& one : xids()) {
    CHECK(one.number == expected++);
    CHECK_FALSE(one.mnemonic.empty());
    CHECK_FALSE(one.meaning.empty());
    INFO(one.number);
    CHECK((one.cause.empty() ||
           std::any_of(log_causes().begin(), log_causes().end(),
                       [&](const LogCause& cause) { return cause.id == one.cause; })));
  }
  CHECK(expected > 172);
}

TEST_CASE("every Xid of the table is known by its line in the kernel log, and by one sign") {
  for (const XidMeaning& xid : xids()) {
    std::string line = fmt::format("NVRM: Xid (PCI:0000:41:00): {}, pid=1234, name=python{}",
                                   xid.number, xid.when);
    line.resize(line.find('[') == std::string::npos ? line.size() : line.find('['));
    line += xid.when.empty() ? "" : "1";
    INFO(line);
    int found = 0;
    for (const LogCause& one : log_causes())
      for (const LogSign& sign : one.signs)
        found += RE2::PartialMatch(line, RE2(sign.line)) &&
                 (sign.unless.empty() || !RE2::PartialMatch(line, RE2(sign.unless)));
    CHECK(found == 1);
  }
}

} // namespace ncclprobe::knowledge
