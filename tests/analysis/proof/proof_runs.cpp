// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof_runs.h"

namespace ncclprobe::analysis_test {
namespace {

constexpr std::uint64_t k_reduced_floats = 256;
constexpr std::uint64_t k_sent_floats = 1024;

model::Cell reduce_cell() {
  model::Cell cell = make_cell("all_reduce", 4 * k_reduced_floats);
  cell.schedule.operations = {{model::CollectiveOp{.count = k_reduced_floats}, {}}};
  cell.schedule.timed = {0, 1};
  return cell;
}

model::Cell send_cell() {
  model::Cell cell = make_cell("send_recv", 4 * k_sent_floats);
  model::SendOp send;
  send.count.common = k_sent_floats;
  cell.schedule.operations = {{send, {}}};
  cell.schedule.timed = {0, 1};
  return cell;
}

model::TrialRecord companion(int id, const std::vector<model::Setting>& settings) {
  model::TrialRecord trial = make_trial({.id = id, .settings = settings});
  trial.spec.purpose = model::Purpose::companion;
  add_cell(trial, reduce_cell(), make_record(2, 1000, 0, 1));
  add_cell(trial, send_cell(), make_record(2, 1000, 0, 1));
  return trial;
}

void add_evidence(model::TrialRecord& trial, const std::string& algorithm,
                  const std::string& words) {
  for (int rank = 0; rank < 2; ++rank) {
    model::Evidence evidence{rank, "", "v5", {}};
    evidence.log = fmt::format("node01:1:1 [{}] NCCL INFO comm 0x1 rank {} nRanks 2 nNodes 1 "
                               "localRanks 2 localRank {} MNNVL 0\n",
                               rank, rank, rank);
    if (!words.empty())
      evidence.log += fmt::format("node01:1:1 [{}] NCCL INFO {}\n", rank, words);
    evidence.choices = {{0, "AllReduce", "ncclFloat32", k_reduced_floats, algorithm, "LL", 4, -1},
                        {0, "Send", "ncclFloat64", 1, "", "", 1, 1 - rank}, // a barrier
                        {1, "Send", "ncclFloat64", 1, "", "", 1, 1 - rank},
                        {1, "Send", "ncclInt8", 4 * k_sent_floats, "", "", 2, 1 - rank}};
    trial.evidence.push_back(std::move(evidence));
  }
}

} // namespace

model::Run proof_run() {
  model::Run run = make_gpu_run(2);
  auto base = companion(0, {});
  add_evidence(base, "RING", "");
  auto same = companion(1, {{"NCCL_NTHREADS", "256"}});
  add_evidence(same, "RING", "NCCL_NTHREADS set by environment to 256.");
  auto tree = companion(2, {{"NCCL_ALGO", "Tree"}});
  add_evidence(tree, "TREE", "NCCL_ALGO set by environment to Tree");
  auto failed = companion(3, {{"NCCL_BUFFSIZE", "1"}});
  failed.outcome = {model::OutcomeKind::crashed, "rank 1 in a cell: signal 7 (Bus error)", {1}};
  run.trials = {base, same, tree, failed};
  run.header.planned_trials = 4;
  return run;
}

} // namespace ncclprobe::analysis_test
