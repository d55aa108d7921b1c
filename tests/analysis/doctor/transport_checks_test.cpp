// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D12, as far as NCCL goes.
#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::joined_case;

namespace {

void set_access(Case& one, bool possible) {
  for (model::Survey& survey : one.surveys)
    for (auto [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
      topology::P2pCapability& pair = survey.inventory.topology.p2p.emplace_back();
      pair.from = from;
      pair.to = to;
      pair.can_access = {possible, topology::Source::cuda};
    }
}

void cut_nvlinks(Case& one) {
  for (model::Survey& survey : one.surveys)
    for (topology::Gpu& gpu : survey.inventory.topology.gpus)
      gpu.nvlinks = {std::vector<topology::NvLink>{}, topology::Source::nvml};
}

// The finding about transports.
const CheckResult* of_ways(const std::vector<CheckResult>& all) {
  for (const CheckResult& one : all)
    if (one.what.kind.starts_with("p2p_used") || one.what.kind.starts_with("p2p_unused"))
      return &one;
  return nullptr;
}

} // namespace

TEST_CASE("NCCL that leaves NVLinks aside is a warning with both transports in it") {
  for (const char* transport : {"SHM/direct/direct", "NET/IB/0"}) {
    auto all = found(joined_case(transport), "D12");
    const CheckResult* finding = of_ways(all);

    REQUIRE(finding);
    CHECK(finding->status == CheckStatus::warn);
    CHECK(finding->evidence.at(0) ==
          fmt::format("rank 0 to rank 1: via {}; GPU 0 to GPU 1: NV18", transport));
  }
}

TEST_CASE("direct transports are well, and nothing is said without NCCL's log") {
  auto all = found(joined_case("P2P/CUMEM"), "D12");
  REQUIRE(of_ways(all));
  CHECK(of_ways(all)->status == CheckStatus::ok);

  auto silent = found(healthy_case(), "D12");
  CHECK(of_ways(silent) == nullptr);
}

TEST_CASE("a detour is none where CUDA cannot reach the other GPU, or on another host") {
  Case one = joined_case("SHM/direct/direct");
  set_access(one, false);
  auto denied = found(one, "D12");
  CHECK((of_ways(denied) == nullptr || of_ways(denied)->status != CheckStatus::warn ||
         of_ways(denied)->what.kind != "p2p_unused"));

  one = joined_case("NET/IB/0");
  one.surveys[1].inventory.boot_id = "boot-2";
  auto apart = found(one, "D12");
  CHECK(of_ways(apart) == nullptr);
}

TEST_CASE("what CUDA could join through the CPU is worth knowing only") {
  Case one = joined_case("SHM/direct/direct");
  cut_nvlinks(one);
  set_access(one, true);

  auto all = found(one, "D12");

  REQUIRE(of_ways(all));
  CHECK(of_ways(all)->status == CheckStatus::info);
}

TEST_CASE("the transports are read off the smoke test's log and stored") {
  model::TrialRecord record;
  record.spec.backend = "nvidia";
  record.evidence = {
      {0, "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n", "v5", {}}};

  Case one = healthy_case();
  one.smoke_tests = {smoke_test_of(record, "all ranks")};

  REQUIRE(one.smoke_tests[0].transports.size() == 1);
  CHECK(one.smoke_tests[0].transports[0] == ChosenTransport{0, 1, "0", "1", "SHM/direct/direct"});
  CHECK(read_case(write_case(one))->smoke_tests == one.smoke_tests);
}
