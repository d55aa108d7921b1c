// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/reference/reference_range.h"
#include "knowledge/gpu_models.h"
#include "support/catch.h"

namespace ncclprobe::analysis {
namespace {

using Path = knowledge::FigureKind::Path;
const knowledge::FigureKind k_all_reduce{.collective = "all_reduce"};

constexpr std::uint64_t k_gib = 1ull << 30;

NodeLinks h200() {
  return {"NVIDIA H200", 8, 450, 63};
}
NodeLinks t4() {
  return {"Tesla T4", 4, 0, 15.75};
}

} // namespace

TEST_CASE("8 H200 with NVLS are judged by what others reach with NVLS, without it by the ring") {
  CHECK(judge_by_range(h200(), {k_all_reduce, 8 * k_gib, 8, 470}).verdict == RangeLevel::normal);
  RangeVerdict ring = judge_by_range(h200(), {k_all_reduce, 8 * k_gib, 8, 362});
  CHECK(ring.verdict == RangeLevel::low);
  CHECK_THAT(ring.causes.front(), ContainsSubstring("NVLink SHARP"));

  RangeVerdict off = judge_by_range(h200(), {k_all_reduce, 8 * k_gib, 8, 362, true});
  CHECK(off.verdict == RangeLevel::normal);
  CHECK_THAT(off.basis, ContainsSubstring("ring"));
}

TEST_CASE("two H200 are judged by the published curve, whatever NVLS is") {
  for (bool off : {false, true}) {
    RangeVerdict verdict = judge_by_range(h200(), {k_all_reduce, 512 << 20, 2, 310, off});
    CHECK(verdict.verdict == RangeLevel::normal);
    CHECK(*verdict.expected_gb_per_s == Approx(315).margin(5));
    CHECK_FALSE(verdict.source.empty());
  }
}

TEST_CASE("a tenth of what is normal is broken, and P2P is the first thing to look at") {
  RangeVerdict verdict = judge_by_range(h200(), {k_all_reduce, 512 << 20, 2, 25});

  CHECK(verdict.verdict == RangeLevel::broken);
  CHECK_THAT(verdict.causes.front(), ContainsSubstring("NCCL_P2P_DISABLE"));
}

TEST_CASE("P2P between H200 is judged by the published health check") {
  CHECK(judge_by_range(h200(), {{Path::p2p}, k_gib, 2, 390}).verdict == RangeLevel::normal);
  CHECK(judge_by_range(h200(), {{Path::p2p}, k_gib, 2, 300}).verdict == RangeLevel::low);
  CHECK(judge_by_range(h200(), {{Path::p2p}, k_gib, 2, 30}).verdict == RangeLevel::broken);
  CHECK(judge_by_range(h200(), {{Path::p2p, {}, true}, k_gib, 2, 775}).verdict ==
        RangeLevel::normal);
  CHECK(judge_by_range(h200(), {{Path::host_device}, k_gib, 1, 54}).verdict == RangeLevel::normal);
}

TEST_CASE("kernels that copy are not judged by what copy engines reach") {
  auto judge = [](const knowledge::FigureKind& kind, double gb_per_s) {
    return judge_by_range(h200(), {kind, 512 << 20, 2, gb_per_s});
  };
  // nvbandwidth measures 676.8 there.
  RangeVerdict read = judge({Path::p2p_sm_read, {}, true}, 673.4);
  CHECK(read.verdict == RangeLevel::normal);
  CHECK(read.expected_gb_per_s == 673.4);
  CHECK(read.basis == "measured by ncclprobe, 2 x H200 SXM, 2026-11");
  CHECK(judge({Path::p2p_sm_write, {}, true}, 730.7).verdict == RangeLevel::normal);
  CHECK(judge({Path::p2p_sm_write}, 369.5).verdict == RangeLevel::normal);
  CHECK(judge({Path::p2p_sm_read}, 373.9).verdict == RangeLevel::normal);
  CHECK(judge({Path::p2p_sm_read}, 250).verdict == RangeLevel::low);
  CHECK(judge({Path::p2p_sm_read, {}, true}, 930).verdict == RangeLevel::unknown); // ceiling: 900

  // Known for H200 only; a share of the ceiling is no ground to judge by.
  NodeLinks b200{"NVIDIA B200", 8, 900, 63};
  CHECK(judge_by_range(b200, {{Path::p2p_sm_read}, 512 << 20, 2, 500}).verdict ==
        RangeLevel::unknown);
  CHECK(judge_by_range(b200, {{Path::p2p}, 512 << 20, 2, 500}).estimate);
}

TEST_CASE("small copies are in part start-up: large ones tell nothing of them") {
  CHECK(judge_by_range(h200(), {{Path::p2p}, 1 << 20, 2, 180}).verdict == RangeLevel::unknown);
  CHECK(judge_by_range(h200(), {{Path::p2p}, 64 << 20, 2, 180}).verdict == RangeLevel::broken);
  CHECK(judge_by_range(h200(), {{Path::host_device}, 1 << 20, 1, 20}).verdict ==
        RangeLevel::unknown);
}

TEST_CASE("nothing is published of a T4's collectives: the verdict is an estimate and says so") {
  RangeVerdict verdict = judge_by_range(t4(), {k_all_reduce, k_gib, 4, 6});

  CHECK(verdict.estimate);
  CHECK(verdict.verdict == RangeLevel::normal);
  CHECK(verdict.source.empty());
  CHECK_THAT(describe(verdict, {k_all_reduce, k_gib, 4, 6}),
             ContainsSubstring("normal (estimate)"));
  CHECK(judge_by_range(t4(), {k_all_reduce, 1 << 20, 4, 3}).verdict == RangeLevel::unknown);
}

TEST_CASE("what is above the ceiling is no verdict on the link") {
  CHECK(judge_by_range(h200(), {{Path::p2p}, k_gib, 2, 470}).verdict == RangeLevel::unknown);
  CHECK(judge_by_range(t4(), {k_all_reduce, k_gib, 4, 17}).verdict == RangeLevel::unknown);
  // In-switch reduction may exceed the link's rate in busbw.
  CHECK(judge_by_range(h200(), {k_all_reduce, 8 * k_gib, 8, 482}).verdict == RangeLevel::normal);
}

TEST_CASE("a node that nobody knows stays unknown") {
  NodeLinks links{"Frobnicator 9000", 2, std::nullopt, std::nullopt};

  CHECK(judge_by_range(links, {k_all_reduce, k_gib, 2, 10}).verdict == RangeLevel::unknown);
  CHECK(judge_by_range(links, {k_all_reduce, k_gib, 2, 0}).verdict == RangeLevel::unknown);
}

TEST_CASE("links come from the inventory, and only where all GPUs agree") {
  model::HostInventory host;
  CHECK_FALSE(node_links(host).has_value());
  model::CudaDevice gpu;
  gpu.name = "NVIDIA H200";
  gpu.compute_capability = "9.0";
  gpu.nvlinks = 18;
  host.gpus = {gpu, gpu};
  CHECK(node_links(host)->nvlink_gb_per_s == 450);
  CHECK(node_links(host)->gpus == 2);
  host.gpus[1].nvlinks = 17;
  CHECK_FALSE(node_links(host).has_value());
  host.gpus[1].nvlinks = host.gpus[0].nvlinks = std::nullopt;
  CHECK_FALSE(node_links(host)->nvlink_gb_per_s.has_value());
}

TEST_CASE("why a second GPU brings nothing depends on the link between them") {
  CHECK_THAT(why_no_speed_up(t4()).front(), ContainsSubstring("at least 63 ms"));
  CHECK_THAT(why_no_speed_up(h200()).front(), ContainsSubstring("detour"));
}

} // namespace ncclprobe::analysis
