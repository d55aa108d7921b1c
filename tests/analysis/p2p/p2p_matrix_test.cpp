// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_matrix.h"
#include "analysis/p2p/p2p_runs.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using analysis_test::make_p2p_run;
using enum model::P2pMethod;
using model::P2pDirection;
using model::P2pLabel;
using model::P2pMethod;
using model::P2pTransfer;

namespace {

const P2pTransfer k_there{{false, 0}, {false, 1}};
const P2pTransfer k_back{{false, 1}, {false, 0}};

double steady(const P2pLabel&, const P2pTransfer&) {
  return 380;
}

const P2pMatrix& of(const std::vector<P2pMatrix>& matrices, P2pMethod method,
                    P2pDirection direction) {
  for (const P2pMatrix& one : matrices)
    if (one.method == method && one.direction == direction)
      return one;
  FAIL("no such matrix");
  return matrices.front();
}

std::vector<std::string> outliers_of(const P2pMatrix& matrix) {
  std::vector<std::string> found;
  for (const P2pEntry& entry : matrix.entries)
    if ((entry.figure && entry.figure->outlier) || (entry.both_ways && entry.both_ways->outlier))
      found.push_back(to_string(entry.transfer.from) + ">" + to_string(entry.transfer.to));
  return found;
}

} // namespace

TEST_CASE("a figure is the median over batches, beside what the link carries") {
  auto matrices = p2p_matrices(make_p2p_run(
      2, {ce}, [](const auto&, const P2pTransfer& way) { return way == k_there ? 380.0 : 360.0; }));

  const P2pMatrix& one_way = of(matrices, ce, P2pDirection::uni);
  const P2pFigure& figure = *one_way.at(k_there)->figure;
  CHECK(figure.value == Approx(380).epsilon(1e-6));
  CHECK(figure.lowest == Approx(380 / 1.001).epsilon(1e-6));
  CHECK(figure.highest == Approx(380 / 0.999).epsilon(1e-6));
  CHECK(figure.batches == 3);
  CHECK(figure.limit.gb_per_s == 450.0);
  CHECK(figure.limit.derivation == "18 NVLinks x 25 GB/s");
  CHECK(*figure.share() == Approx(380.0 / 450));
  CHECK(one_way.at(k_back)->figure->value == Approx(360).epsilon(1e-6));
  CHECK(one_way.at(k_there)->data == DataState::checked);

  const P2pEntry& both = *of(matrices, ce, P2pDirection::bi).at(k_there);
  CHECK(both.figure->value == Approx(380).epsilon(1e-6));
  CHECK(both.both_ways->value == Approx(740).epsilon(1e-6));
  CHECK(both.both_ways->limit.gb_per_s == 900.0);
}

TEST_CASE("what one rank's time covers together is told together") {
  auto matrices = p2p_matrices(make_p2p_run(4, {sm_read, host}, steady));

  // Both ways to the host are driven by one GPU: there is no figure for each way.
  const P2pEntry& host_and_gpu = *of(matrices, host, P2pDirection::bi).at({{true, 2}, {false, 2}});
  CHECK_FALSE(host_and_gpu.figure);
  CHECK(host_and_gpu.both_ways->value ==
        Approx(380).epsilon(1e-6)); // twice the bytes, twice the time
  const P2pMatrix& together = of(matrices, sm_read, P2pDirection::together);
  REQUIRE(together.entries.size() == 4);
  CHECK(together.entries[3].transfer == P2pTransfer{{false, 3}, {false, 3}});
  CHECK(together.entries[3].figure->value == Approx(380).epsilon(1e-6));
  CHECK(together.entries[3].figure->limit.gb_per_s == 450.0);
}

TEST_CASE("latency is time by hop, and knows no share") {
  auto matrices = p2p_matrices(
      make_p2p_run(2, {latency, pingpong}, [](const P2pLabel& label, const P2pTransfer&) {
        return label.method == latency ? 700.0 : 9000.0;
      }));

  const P2pFigure& hop = *of(matrices, latency, P2pDirection::uni).at(k_there)->figure;
  CHECK(hop.value == Approx(700).epsilon(1e-6));
  CHECK_FALSE(hop.share());
  const P2pMatrix& messages = of(matrices, pingpong, P2pDirection::uni);
  CHECK(messages.at(k_there)->figure->value == Approx(9000).epsilon(1e-6));
  CHECK(messages.at(k_back)->figure->value == Approx(9000).epsilon(1e-6));
  CHECK(is_mirrored(messages, k_back));
}

TEST_CASE("one slow pair among its kind stands out, and nothing else") {
  P2pTransfer slow{{false, 2}, {false, 0}};
  auto run = make_p2p_run(4, {ce, latency}, [&](const P2pLabel& label, const P2pTransfer& way) {
    if (label.method == latency)
      return way == slow ? 900.0 : way.from == way.to ? 300.0 : 700.0;
    return way == slow ? 340.0 : 380.0;
  });

  auto matrices = p2p_matrices(run);

  CHECK(outliers_of(of(matrices, ce, P2pDirection::uni)) == std::vector<std::string>{"2>0"});
  CHECK(outliers_of(of(matrices, latency, P2pDirection::uni)) == std::vector<std::string>{"2>0"});
  // 5.3% of the sum of both ways.
  CHECK(outliers_of(of(matrices, ce, P2pDirection::bi)) == std::vector<std::string>{"0>2", "2>0"});
}

TEST_CASE("a pair is no outlier within the noise of its kind, within 5%, or in some batch only") {
  auto within = [](double slow) {
    return outliers_of(
        of(p2p_matrices(make_p2p_run(4, {ce},
                                     [slow](const P2pLabel&, const P2pTransfer& way) {
                                       return way == k_there ? slow : 380.0;
                                     })),
           ce, P2pDirection::uni));
  };
  CHECK(within(380 * 0.955).empty());
  CHECK(within(380 * 0.945).size() == 1);

  // Half of the pairs at 300, half at 380: both are its kind.
  auto split = p2p_matrices(make_p2p_run(4, {ce}, [](const P2pLabel&, const P2pTransfer& way) {
    return way.from.rank < 2 ? 300.0 : 380.0;
  }));
  CHECK(outliers_of(of(split, ce, P2pDirection::uni)).empty());

  model::Run run = make_p2p_run(4, {ce}, [](const P2pLabel&, const P2pTransfer& way) {
    return way == k_there ? 300.0 : 380.0;
  });
  for (model::Sample& sample : run.trials[0].cells[0].samples)
    if (sample.batch == 2)
      sample.elapsed_ns /= 2; // once it was fast
  CHECK(outliers_of(of(p2p_matrices(run), ce, P2pDirection::uni)).empty());
}

TEST_CASE("a figure that is over 2% beyond what its link carries is named") {
  auto at = [](double rate) {
    return beyond_limits(
        p2p_matrices(make_p2p_run(2, {ce}, [rate](const auto&, const P2pTransfer& way) {
          return way == k_there ? rate : 380.0;
        })));
  };
  CHECK(at(458).empty());
  std::vector<std::string> found = at(470);
  REQUIRE(found.size() == 2); // one way, and that way of both ways; the sum is within its limit
  CHECK(found[0] ==
        "ce, uni, 512M, 0 to 1: 470.0 GB/s, but the link's rate is 450.0 (18 NVLinks x 25 GB/s)");
}

TEST_CASE("through host memory no more goes than the slower PCIe link carries") {
  model::Run run =
      make_p2p_run(2, {P2pMethod::staged}, [](const auto&, const auto&) { return 37.0; });

  auto matrices = p2p_matrices(run);
  const P2pFigure& figure = *of(matrices, P2pMethod::staged, P2pDirection::uni).at(k_there)->figure;
  const P2pEntry& both = *of(matrices, P2pMethod::staged, P2pDirection::bi).at(k_there);

  CHECK(figure.limit.gb_per_s == 63.0);
  CHECK(figure.limit.derivation == "PCIe link of a H200 SXM5, theoretical (through host memory)");
  CHECK(both.both_ways->limit.gb_per_s == 126.0);

  run.header.hosts[0].gpus[1].name = "NVIDIA A100-SXM4-40GB";
  auto mixed = p2p_matrices(run);
  CHECK(of(mixed, P2pMethod::staged, P2pDirection::uni).at(k_there)->figure->limit.gb_per_s ==
        31.5);
}

TEST_CASE("a limit that is not known is unknown, not zero") {
  model::Run run = make_p2p_run(2, {ce}, steady);
  run.header.hosts[0].gpus[1].nvlinks.reset();

  const P2pFigure figure = *p2p_matrices(run).front().at(k_there)->figure;

  CHECK_FALSE(figure.limit.gb_per_s);
  CHECK_FALSE(figure.share());
  CHECK_FALSE(figure.beyond_limit());
}

TEST_CASE("cells that failed have no figure but their reason, and wrong data is wrong") {
  model::Run run = make_p2p_run(2, {ce}, steady);
  run.trials[0].cells[0] = {{model::OutcomeKind::skipped, "no direct path", {0}}, {}, {}, {}};
  run.trials[0].cells[1].outcome.kind = model::OutcomeKind::wrong_data;
  run.trials[0].cells[1].check.wrong = 1;
  run.trials[0].cells[1].check.first_wrong = "rank 0 element 5";

  const P2pMatrix matrix = p2p_matrices(run).front();

  CHECK_FALSE(matrix.at(k_there)->figure);
  CHECK(matrix.at(k_there)->outcome.reason == "no direct path");
  CHECK(matrix.at(k_back)->data == DataState::wrong);
  CHECK(matrix.at(k_back)->data_note == "rank 0 element 5");
}

TEST_CASE("processes are pooled by their medians") {
  model::Run run = make_p2p_run(2, {ce}, steady);
  for (double rate : {300.0, 370.0}) {
    model::Run other = make_p2p_run(2, {ce}, [rate](const auto&, const auto&) { return rate; });
    run.trials.push_back(other.trials.front());
    run.trials.back().spec.id = static_cast<int>(run.trials.size()) - 1;
  }

  const P2pFigure figure = *p2p_matrices(run).front().at(k_there)->figure;

  CHECK(figure.value == Approx(370).epsilon(1e-6));
  CHECK(figure.batches == 9);
}

TEST_CASE("what the inventory knows of links counts before what the GPU's model tells") {
  model::Run run = make_p2p_run(2, {ce, host}, steady);
  model::HostInventory& machine = run.header.hosts.front();
  for (int i = 0; i < 2; ++i) {
    machine.gpus[static_cast<std::size_t>(i)].pci_bus_id = fmt::format("00000000:{}B:00.0", i + 1);
    topology::Gpu gpu;
    gpu.index = 1 - i; // as nvidia-smi numbers them
    gpu.bus_id = {fmt::format("0000:{}b:00.0", i + 1), topology::Source::nvml};
    gpu.compute_capability = {"9.0", topology::Source::nvml};
    topology::NvLink link;
    link.active = {true, topology::Source::nvml};
    link.gb_per_s = {25.0, topology::Source::nvml};
    link.remote = {topology::RemoteKind::nvswitch, topology::Source::nvml};
    gpu.nvlinks = {std::vector<topology::NvLink>(12, link), topology::Source::nvml};
    gpu.pcie.generation_gpu_max = {4, topology::Source::nvml};
    gpu.pcie.width_gpu_max = {16, topology::Source::nvml};
    gpu.pcie.generation_slot_max = {4, topology::Source::nvml};
    gpu.pcie.width_slot_max = {16, topology::Source::nvml};
    machine.topology.gpus.insert(machine.topology.gpus.begin(), gpu);
  }

  auto matrices = p2p_matrices(run);

  const P2pFigure& link = *of(matrices, ce, P2pDirection::uni).at(k_there)->figure;
  CHECK(link.limit.gb_per_s == 300.0);
  CHECK(link.limit.link_class == "NV12");
  CHECK(link.beyond_limit());
  const P2pFigure& to_gpu =
      *of(matrices, host, P2pDirection::uni).at({{true, 0}, {false, 0}})->figure;
  CHECK(to_gpu.limit.gb_per_s.value_or(0) == Approx(31.5).epsilon(0.01));
}
