// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof_runs.h"

#include "support/run_builder.h"

namespace ncclprobe::analysis_test {

using namespace support;

namespace {

constexpr std::uint64_t k_reduced_floats = 256;
constexpr std::uint64_t k_sent_floats = 1024;

model::Cell scheduled_reduce_cell() {
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

TrialBuilder add_companion(RunBuilder& run, std::vector<model::Setting> settings) {
  return run.trial(std::move(settings), model::Purpose::companion)
      .cell(scheduled_reduce_cell(), make_record(2, 1000, 0, 1))
      .cell(send_cell(), make_record(2, 1000, 0, 1));
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

model::Cell predicted_cell() {
  model::Cell cell = make_cell("all_reduce", 4 * k_predicted_floats);
  cell.schedule.streams = {{"stream"}};
  cell.schedule.communicators = {{"all"}};
  cell.schedule.operations = {{model::CollectiveOp{.count = k_predicted_floats}, {}}};
  cell.schedule.timed = {0, 1};
  return cell;
}

void add_predicted(RunBuilder& run, const std::vector<model::Setting>& settings,
                   const std::string& way) {
  auto trial = run.trial(settings, model::Purpose::companion);
  trial.cell(predicted_cell(), make_record(2, 1000, 0, 1));
  for (int rank = 0; rank < 2; ++rank) {
    model::Evidence evidence{rank, "", "v5", {}};
    evidence.choices = {{0, "AllReduce", "ncclFloat32", k_predicted_floats, "RING", way, 4, -1}};
    trial->evidence.push_back(evidence);
  }
  trial->evidence[0].log = "n:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2\n"
                           "n:1:1 [0] NCCL INFO   Algorithm   |   Ring |\n"
                           "n:1:1 [0] NCCL INFO   Protocol    |   LL128 | Simple |\n"
                           "n:1:1 [0] NCCL INFO  AllReduce | 20.0/ 200.0 | 30.0/ 250.0 |\n";
}

} // namespace

model::Run proof_run() {
  RunBuilder run(2);
  add_evidence(*add_companion(run, {}), "RING", "");
  add_evidence(*add_companion(run, {{"NCCL_NTHREADS", "256"}}), "RING",
               "NCCL_NTHREADS set by environment to 256.");
  add_evidence(*add_companion(run, {{"NCCL_ALGO", "Tree"}}), "TREE",
               "NCCL_ALGO set by environment to Tree");
  add_companion(run, {{"NCCL_BUFFSIZE", "1"}})->outcome = {
      model::OutcomeKind::crashed, "rank 1 in a cell: signal 7 (Bus error)", {1}};
  run.header.planned_trials = 4;
  return run;
}

model::Run predicted_run() {
  RunBuilder run(2);
  const std::vector<model::Setting> simple{{"NCCL_PROTO", "Simple"}};
  auto measure = [&](const std::vector<model::Setting>& settings, std::int64_t time_ns) {
    run.trial(settings).cell(predicted_cell(), make_record(2, time_ns));
  };
  for (int block = 0; block < 5; ++block) {
    measure({}, 50'000 + 10 * block);
    measure({}, 50'005 + 10 * block);
    measure(simple, 40'000 + 10 * block);
  }
  add_predicted(run, {}, "LL128");
  add_predicted(run, simple, "SIMPLE");
  return run;
}

} // namespace ncclprobe::analysis_test
