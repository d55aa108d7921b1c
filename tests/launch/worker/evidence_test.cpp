// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/recorder.h"

#include "launch/worker/evidence.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <cstdio>
#include <fstream>

using namespace ncclprobe;
using worker::bounded_log;
using worker::EvidenceCollector;

namespace {

model::TrialSpec companion(const std::string& backend) {
  model::TrialSpec spec;
  spec.purpose = model::Purpose::companion;
  spec.backend = backend;
  spec.ranks = 2;
  return spec;
}

void record(void* context, const char* function, int channels) {
  plugin::Record* one = plugin::begin_record(context);
  one->function.set(function);
  one->channels = channels;
  plugin::end_record(one);
}

} // namespace

TEST_CASE("a long log keeps its beginning and its end, whole lines") {
  std::string log;
  for (int i = 0; i < 1000; ++i)
    log += "line " + std::to_string(i) + "\n";

  std::string kept = bounded_log(log, 1000);

  CHECK(kept.size() < 1100);
  CHECK(kept.starts_with("line 0\n"));
  CHECK(kept.ends_with("line 999\n"));
  CHECK_THAT(kept, ContainsSubstring("bytes of the log are left out here\nline "));
  CHECK(bounded_log("short\n", 1000) == "short\n");
}

TEST_CASE("a measuring trial leaves no evidence") {
  model::TrialSpec spec = companion("nvidia");
  spec.purpose = model::Purpose::measure;
  EvidenceCollector collector(spec, {});
  CHECK(collector.collect({0}, 1, {"words"}).empty());
}

TEST_CASE(
    "what the library writes into its log file is collected, and files in its way are named") {
  support::ScratchFolder folder;
  const std::string settings = (folder.path() / "nccl.conf").string();
  std::ofstream(settings) << "# comment\nNCCL_MAX_CTAS=secret4\nno equals\nNCCL_DEBUG=WARN\n";
  EvidenceCollector collector(
      companion("nvidia"),
      {{"NCCL_DEBUG_FILE", model::k_companion_log_path}, {"NCCL_CONF_FILE", settings}});
  std::FILE* as_nccl = std::fopen(model::k_companion_log_path, "w");
  REQUIRE(as_nccl != nullptr);
  std::fputs("host:1:1 [0] NCCL INFO NCCL_PROTO set by environment to LL\n", as_nccl);
  std::fclose(as_nccl);

  auto evidence = collector.collect({1}, 2, {});

  REQUIRE(evidence.size() == 1);
  CHECK(evidence[0].rank == 1);
  CHECK_THAT(evidence[0].log, ContainsSubstring("NCCL_PROTO set by environment to LL\n"));
  CHECK_THAT(evidence[0].log, // names, no values
             ContainsSubstring("/nccl.conf sets NCCL_MAX_CTAS, NCCL_DEBUG\n"));
  CHECK_THAT(evidence[0].log, !ContainsSubstring("secret4"));
}

TEST_CASE("calls belong to the cell they were made in, and to the rank that made them") {
  EvidenceCollector collector(companion("nvidia"), {});
  void* rank0 = plugin::open_context(5, 7, 2, 0);
  void* rank1 = plugin::open_context(5, 7, 2, 1);
  collector.enter_cell(3);
  record(rank0, "AllReduce", 8);
  record(rank0, "AllReduce", 8);
  record(rank1, "AllReduce", 4);
  collector.enter_cell(-1);

  auto evidence = collector.collect({0, 1}, 2, {});

  REQUIRE(evidence.size() == 2);
  CHECK(evidence[0].profiler == "v5");
  REQUIRE(evidence[0].choices.size() == 1); // the same call twice is reported once
  CHECK(evidence[0].choices[0].cell == 3);
  CHECK(evidence[0].choices[0].channels == 8);
  REQUIRE(evidence[1].choices.size() == 1);
  CHECK(evidence[1].choices[0].channels == 4);
  CHECK_THAT(evidence[0].log, ContainsSubstring("NCCL has no log"));
}

TEST_CASE("what the library expects of a cell is a line of its own") {
  EvidenceCollector collector(companion("nvidia"), {});
  collector.enter_cell(2);
  collector.leave_cell(21.5);
  collector.enter_cell(3);
  collector.leave_cell(std::nullopt);

  auto evidence = collector.collect({0}, 1, {});
  REQUIRE(evidence.size() == 1);
  CHECK_THAT(evidence[0].log, ContainsSubstring("ncclprobe: NCCL expects 21.5 us of cell 2\n"));
  CHECK_THAT(evidence[0].log, !ContainsSubstring("of cell 3"));
}

TEST_CASE("another backend's evidence is what it says itself") {
  EvidenceCollector collector(companion("host"), {});
  auto evidence =
      collector.collect({0}, 1, {"NCCLPROBE_GLOO_ALGORITHM set by environment to ring"});
  REQUIRE(evidence.size() == 1);
  CHECK(evidence[0].log == "NCCLPROBE_GLOO_ALGORITHM set by environment to ring\n");
  CHECK_THAT(evidence[0].profiler, ContainsSubstring("no profiler interface"));
}
