// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_format.h"
#include "analysis/imports/import_logs.h"
#include "support/catch.h"

namespace ncclprobe::analysis::imports {

TEST_CASE("the format of a file is seen in its text") {
  using enum model::ImportFormat;
  auto format = [](const std::string& text) { return base::value_or_throw(format_of(text)); };
  CHECK(format(import_log("all_reduce_2.19.6.log")) == nccl_tests_text);
  CHECK(format("\n#   node  algbw  busbw\n") == nccl_tests_text);
  CHECK(format(import_log("all_gather_2.19.6.json")) == nccl_tests_json);
  CHECK(format("\xEF\xBB\xBF" + import_log("all_gather_2.19.6.json")) == nccl_tests_json);
  CHECK(format(import_log("inspector_rank0.log")) == nccl_inspector);
  CHECK(format(import_log("nvbandwidth_0.8.json")) == nvbandwidth_json);
}

TEST_CASE("a file of no known format is refused with what was looked for") {
  for (const char* text : {"", "hello", "{}", "nvbandwidth Version: v0.8\n"}) {
    INFO(text);
    const auto format = format_of(text);
    REQUIRE_FALSE(format);
    CHECK(format.error().code == Errc::invalid_argument);
    CHECK_FALSE(format.error().hint.empty());
  }
}

TEST_CASE("files of NCCL Inspector belong to one process, other files are processes") {
  using enum model::ImportFormat;
  const std::string log = import_log("all_reduce_2.19.6.log");
  const auto inputs = base::value_or_throw(
      read_inputs({{"a", nccl_tests_text, log},
                   {"r0", nccl_inspector, import_log("inspector_rank0.log")},
                   {"b", nccl_tests_text, log},
                   {"r1", nccl_inspector, import_log("inspector_rank1_verbose.log")}},
                  {}));

  REQUIRE(inputs.size() == 4);
  CHECK(inputs[0].processes.size() == 1);
  CHECK(inputs[1].processes.size() == 1);
  CHECK(inputs[2].processes.size() == 1);
  CHECK(inputs[3].processes.empty());
  CHECK(inputs[0].fingerprint == inputs[2].fingerprint);
  CHECK(inputs[0].fingerprint != inputs[1].fingerprint);
  const auto wrong = read_inputs({{"bad.json", nccl_tests_json, log}}, {});
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message, ContainsSubstring("bad.json"));
}

} // namespace ncclprobe::analysis::imports
