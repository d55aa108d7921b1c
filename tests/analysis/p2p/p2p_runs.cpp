// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_runs.h"

#include "support/run_builder.h"
#include "workload/p2p_benchmark.h"

#include <map>

namespace ncclprobe::analysis_test {

using namespace support;
using model::P2pLabel;
using model::P2pTransfer;

namespace {

model::CellRecord record_of(const model::Cell& cell, const P2pLabel& label, const P2pRates& rates) {
  constexpr double batch_factors[] = {1.001, 1.0, 0.999};
  constexpr int iterations = 1000; // makes whole nanoseconds exact enough
  std::map<int, double> time_ns;   // the longest of a rank's transfers, which run at once
  std::map<int, int> transfers;
  for (const P2pTransfer& transfer : label.transfers) {
    int rank = timed_rank(label.method, transfer);
    double bytes = static_cast<double>(cell.label.bytes);
    double rate = rates(label, transfer);
    double one_ns = label.method == model::P2pMethod::latency
                        ? rate * static_cast<double>(workload::k_chase_hops)
                    : label.method == model::P2pMethod::pingpong ? 2 * rate
                                                                 : bytes / rate;
    time_ns[rank] = std::max(time_ns[rank], one_ns);
    ++transfers[rank];
  }
  model::CellRecord record;
  record.check.checked = true;
  record.check.elements = cell.label.bytes / 8;
  for (int batch = 0; batch < 3; ++batch)
    for (const auto& [rank, ns] : time_ns)
      record.samples.push_back(
          {rank, batch, iterations,
           static_cast<std::int64_t>(ns * transfers[rank] * batch_factors[batch] * iterations)});
  return record;
}

} // namespace

model::Run make_p2p_run(int ranks, std::vector<model::P2pMethod> methods, const P2pRates& rates) {
  RunBuilder run(ranks);
  workload::P2pRequest request;
  request.backend = "nvidia";
  request.host_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  request.methods = std::move(methods);
  auto trial = run.trial();
  *trial = {.spec = workload::make_p2p_plan(request).value().trials.front()};
  for (const model::Cell& cell : trial->spec.cells)
    trial->cells.push_back(record_of(cell, *cell.label.p2p(), rates));
  for (model::CudaDevice& gpu : run.header.hosts.front().gpus) {
    gpu.compute_capability = "9.0";
    gpu.nvlinks = 18;
  }
  run.header.planned_trials = 1;
  return run;
}

} // namespace ncclprobe::analysis_test
