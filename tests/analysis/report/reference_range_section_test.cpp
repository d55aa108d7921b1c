// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/reference_range_section.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/run_builder.h"

namespace ncclprobe::analysis {
namespace {

model::Run run_of(const std::string& backend) {
  support::RunBuilder run(8);
  run.header.backend = backend;
  for (model::CudaDevice& gpu : run.header.hosts[0].gpus) {
    gpu.compute_capability = "9.0";
    gpu.nvlinks = 18;
  }
  return run;
}

SettingResult result(double busbw_gb_per_s, std::uint64_t bytes = 1ull << 33) {
  SettingResult one;
  one.is_default = true;
  one.label.bytes = bytes;
  one.ranks = 8;
  one.busbw_gb_per_s = busbw_gb_per_s;
  return one;
}

std::string range_text(const model::Run& run, const std::vector<SettingResult>& results) {
  return write_text(reference_range_report(run, results));
}

} // namespace

TEST_CASE("the largest default message is judged") {
  std::string text = range_text(run_of("nvidia"), {result(100, 1 << 30), result(470)});

  CHECK_THAT(text, ContainsSubstring("normal: 470.00 GB/s"));
  CHECK(text.find("100.00") == std::string::npos);
}

TEST_CASE("what is low comes with causes, and a ring is expected where NVLS is off") {
  model::Run run = run_of("nvidia");
  CHECK_THAT(range_text(run, {result(362)}), ContainsSubstring("1. "));

  run.header.environment = {{"NCCL_NVLS_ENABLE", "0"}};
  CHECK_THAT(range_text(run, {result(362)}), ContainsSubstring("normal: 362.00"));
}

TEST_CASE("what cannot be judged is left out") {
  CHECK(range_text(run_of("host"), {result(470)}).empty());
  model::Run two_hosts = run_of("nvidia");
  two_hosts.header.hosts.push_back(two_hosts.header.hosts[0]);
  CHECK(range_text(two_hosts, {result(470)}).empty());
  model::Run two_nodes = run_of("nvidia"); // in NCCL's eyes
  two_nodes.trials.emplace_back().spec.process.per_rank[4] = {{"NCCL_HOSTID", "b"}};
  CHECK(range_text(two_nodes, {result(470)}).empty());
  model::Run synthetic = run_of("nvidia");
  synthetic.header.synthetic = true;
  CHECK(range_text(synthetic, {result(470)}).empty());
  SettingResult changed = result(470);
  changed.is_default = false;
  CHECK(range_text(run_of("nvidia"), {changed}).empty());
}

} // namespace ncclprobe::analysis
