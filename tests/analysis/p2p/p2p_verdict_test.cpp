// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_runs.h"
#include "analysis/p2p/p2p_verdict.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using enum model::P2pMethod;
using model::P2pDirection;

namespace {

model::Run run_at(double gb_per_s, int ranks = 2) {
  return analysis_test::make_p2p_run(
      ranks, {ce, sm_write, sm_read, latency},
      [gb_per_s](const model::P2pLabel&, const model::P2pTransfer&) { return gb_per_s; });
}

// "ce uni normal", a line for each matrix that is judged.
std::vector<std::string> verdicts(const model::Run& run) {
  std::vector<std::string> found;
  for (const P2pMatrix& matrix : p2p_matrices(run))
    if (auto judged = judge(run.header, matrix))
      found.push_back(fmt::format("{} {} {}", model::to_string(matrix.method),
                                  model::to_string(matrix.direction),
                                  model::to_string(judged->verdict.verdict)));
  return found;
}

} // namespace

TEST_CASE("each method is judged by what is known of that method") {
  // Both ways are the sum, 676: low for engines, and for kernels that write; for reads as always.
  CHECK(verdicts(run_at(338)) ==
        std::vector<std::string>{"ce uni normal", "ce bi low", "sm_write uni normal",
                                 "sm_write bi normal", "sm_read uni low", "sm_read bi normal"});
}

TEST_CASE("pairs with a part of a GPU's links are not judged by all of them") {
  model::Run run = run_at(48, 2);
  CHECK_FALSE(verdicts(run).empty());

  // As where no switch is between GPUs: 4 of the 18 links lead to the other.
  for (int index = 0; index < 2; ++index) {
    model::CudaDevice& gpu = run.header.hosts.front().gpus[static_cast<std::size_t>(index)];
    gpu.pci_bus_id = fmt::format("00000000:{}B:00.0", index + 1);
    topology::Gpu known;
    known.index = index;
    known.bus_id = {fmt::format("0000:{}b:00.0", index + 1), topology::Source::nvml};
    topology::NvLink link;
    link.active = {true, topology::Source::nvml};
    link.gb_per_s = {25.0, topology::Source::nvml};
    link.remote = {topology::RemoteKind::nvswitch, topology::Source::nvml};
    known.nvlinks = {std::vector<topology::NvLink>(4, link), topology::Source::nvml};
    run.header.hosts.front().topology.gpus.push_back(known);
  }
  CHECK(p2p_matrices(run).front().entries.front().figure->limit.gb_per_s == 100.0);
  CHECK(verdicts(run).empty());
}

TEST_CASE("what crosses a network is not judged by the link of a node") {
  model::Run run = run_at(40, 2);
  model::RunHeader& header = run.header;
  header.hosts.push_back(header.hosts.front());
  header.ranks[1].host = 1;

  CHECK(verdicts(run).empty());
}
