// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/example_reports.h"

#include "analysis/steps/step_builder.h"
#include "support/run_builder.h"

namespace ncclprobe::analysis_test {

using namespace support;

namespace {

using model::OutcomeKind;
using model::Placement;

constexpr std::uint64_t k_kib = 1024;
constexpr std::uint64_t k_mib = 1024 * k_kib;

// Latency and rate of a made-up machine: 11 us and 250 bytes per ns, `permille` as slow.
std::int64_t model_time_ns(std::uint64_t bytes, int permille = 1000) {
  return (11'000 + static_cast<std::int64_t>(bytes) / 250) * permille / 1000;
}

void add_sizes(TrialBuilder trial, const std::string& workload,
               const std::vector<std::uint64_t>& sizes, int permille) {
  for (std::uint64_t bytes : sizes)
    trial.cell(workload, bytes, model_time_ns(bytes, permille), {.step_ns = 20});
}

void end_all(TrialBuilder trial, const std::string& phase, const std::string& exit) {
  for (model::WorkerRecord& worker : trial->workers) {
    worker.last_phase = phase;
    worker.exit = exit;
  }
}

} // namespace

model::Run sweep_run() {
  const std::vector<std::uint64_t> sizes{k_kib,     16 * k_kib, 256 * k_kib,
                                         4 * k_mib, 64 * k_mib, 256 * k_mib};
  RunBuilder run(8);
  run.header.argv = {"ncclprobe", "--set", "NCCL_ALGO=Ring,Tree", "--set", "NCCL_PROTO=LL,Simple",
                     "--repeat",  "5"};
  run.header.environment = {{"NCCL_DEBUG", "WARN"}, {"NCCL_IB_DISABLE", "1"}};
  run.header.pinned = {{"NCCL_IB_DISABLE", "1"}};
  struct Entry {
    std::vector<model::Setting> settings;
    std::vector<int> permille; // of the default's time, by process
  };
  const std::vector<Entry> entries{
      {{}, {1000, 1006, 995, 1002, 1004, 998, 1003, 997, 1001, 999}},
      {{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}}, {1001, 1004, 996, 1000, 1003}},
      {{{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "LL"}}, {1500, 1530, 1520, 1490, 1510}},
      {{{"NCCL_ALGO", "Tree"}, {"NCCL_PROTO", "Simple"}, {"NCCL_MIN_CTAS", "16"}},
       {900, 908, 904, 899, 902}}};
  for (const Entry& entry : entries)
    for (int permille : entry.permille) {
      auto trial = run.trial(entry.settings);
      add_sizes(trial, "all_reduce", sizes, permille);
      // Only large messages gain from this setting.
      bool tree = entry.settings.size() == 3;
      add_sizes(trial, "all_gather", {k_mib}, tree ? 1000 : permille);
      add_sizes(trial, "all_gather", {16 * k_mib}, permille);
    }
  run.header.planned_trials = static_cast<int>(run.trials.size());
  return run;
}

model::Run failures_run() {
  RunBuilder run(4);
  run.header.hosts.push_back(run.header.hosts[0]);
  run.header.hosts[1].hostname = "node02";
  run.header.hosts[1].libraries[0].version = "2.27.7";
  run.header.ranks[2] = {.rank = 2, .host = 1, .device = 0};
  run.header.ranks[3] = {.rank = 3, .host = 1, .device = 1};
  const std::vector<std::uint64_t> sizes{64 * k_kib, k_mib, 16 * k_mib};

  auto plain = run.trial();
  add_sizes(plain, "all_reduce", sizes, 1000);
  plain->cells[1].check = {.why_unchecked = "the oracle does not know f32 avg of 3 ranks"};

  for (int replicate = 0; replicate < 2; ++replicate) {
    auto trial = run.trial({{"NCCL_SOCKET_IFNAME", "nosuch0"}});
    for (std::uint64_t bytes : sizes)
      trial.cell(make_cell("all_reduce", bytes), make_record(OutcomeKind::not_run, ""));
    trial->outcome = {OutcomeKind::failed,
                      "ncclCommInitRank: internal error (Bootstrap : no socket interface found)",
                      {0, 1, 2, 3}};
    end_all(trial, "communicator_init", "exit 3");
    for (auto& worker : trial->workers)
      worker.output_tail =
          "\x1b[31mnode01:4000 [0] bootstrap.cc:57 NCCL WARN Bootstrap : no socket "
          "interface found\x1b[0m\n\n";
  }

  auto hang = run.trial({{"NCCL_P2P_DISABLE", "1"}});
  add_sizes(hang, "all_reduce", {64 * k_kib}, 1000);
  hang.cell(make_cell("all_reduce", k_mib),
            make_record(OutcomeKind::timed_out, "no result from rank 2 within 30.0 s", {2}));
  hang.cell(make_cell("all_reduce", 16 * k_mib), make_record(OutcomeKind::not_run, ""));
  end_all(hang, "cell", "stopped: signal 15 (Terminated)");
  for (auto& worker : hang->workers)
    worker.last_cell = 1;
  hang->workers[2].exit = "stopped: signal 9 (Killed)";

  auto crash = run.trial({{"NCCL_BUFFSIZE", "1"}});
  crash.cell(make_cell("all_reduce", 64 * k_kib),
             make_record(OutcomeKind::crashed, "worker of rank 1 died: signal 7 (Bus error)", {1}));
  end_all(crash, "cell", "stopped: signal 9 (Killed)");
  crash->workers[1].exit = "signal 7 (Bus error)";
  crash->workers[1].output_tail = "line one\nline two\n";

  auto wrong = run.trial({{"NCCL_PROTO", "LL128"}});
  add_sizes(wrong, "all_reduce", sizes, 800);
  wrong->cells[2].outcome = {OutcomeKind::wrong_data, "wrong data on rank 3", {3}};
  wrong->cells[2].check.wrong = 17;
  wrong->cells[2].check.elements = 4'194'304;
  wrong->cells[2].check.first_wrong = "rank 3 element 17: 5 instead of 6";
  wrong->outcome = wrong->cells[2].outcome;

  auto skipped = run.trial({{"NCCL_CTA_POLICY", "2"}});
  for (std::uint64_t bytes : sizes)
    skipped.cell(
        make_cell("all_reduce", bytes),
        make_record(OutcomeKind::skipped, "ncclAlltoAll is not in NCCL 2.27.7; 2.28 has it"));

  run.header.planned_trials = static_cast<int>(run.trials.size());
  return run;
}

model::Run synthetic_run() {
  auto run = RunBuilder::on_cpus(4);
  run.header.backend = "synthetic";
  run.header.backend_reason = "asked for with --backend synthetic";
  run.header.synthetic = true;
  run.header.mpi_version.clear();
  for (const std::vector<model::Setting>& settings :
       {std::vector<model::Setting>{}, std::vector<model::Setting>{{"NCCL_PROTO", "LL"}}}) {
    auto trial = run.trial(settings);
    for (Placement placement : {Placement::out_of_place, Placement::in_place})
      for (std::uint64_t bytes : {std::uint64_t{8}, k_kib}) {
        auto record = make_record(4, model_time_ns(bytes, settings.empty() ? 1000 : 500));
        record.check = {.why_unchecked = "the synthetic backend moves no data"};
        trial.cell(make_cell("broadcast", bytes, placement), record);
      }
  }
  run.header.planned_trials = 2;
  return run;
}

model::Run in_process_run() {
  auto run = RunBuilder::on_cpus(2);
  for (int process = 0; process < 10; ++process) {
    auto trial = run.trial();
    for (std::uint64_t bytes : {k_kib, 64 * k_kib}) {
      // Processes differ by up to 1.9 times, times within them by 0.2%.
      const std::int64_t time_ns = (20'000 + 2'000 * process) * (bytes == k_kib ? 1 : 10);
      const auto plain = make_cell("all_reduce", bytes);
      auto ring = plain, bcube = plain;
      ring.settings = {{"algorithm", "ring"}};
      bcube.settings = {{"algorithm", "bcube"}};
      trial.cell(plain, make_record(2, time_ns))
          .cell(ring, make_record(2, time_ns * (bytes == k_kib ? 12 : 9) / 10))
          .cell(plain, make_record(2, time_ns + time_ns * (process % 3) / 1000))
          .cell(bcube, make_record(2, time_ns + time_ns * (process % 4 - 1) / 1000));
    }
  }
  for (int process = 0; process < 5; ++process)
    run.trial({{"OMP_NUM_THREADS", "1"}})
        .cell("all_reduce", k_kib, 30'000 + 500 * process)
        .cell("all_reduce", 64 * k_kib, 300'000 + 5'000 * process);
  run.header.planned_trials = 15;
  return run;
}

model::Run latency_run() {
  RunBuilder run(2);
  auto add = [&](std::vector<model::Setting> settings, int replicate, model::Purpose purpose) {
    auto trial = run.trial(std::move(settings), purpose);
    for (std::uint64_t bytes : {std::uint64_t{8}, k_kib}) {
      auto cell = make_cell("all_reduce", bytes);
      cell.label.what = model::CollectiveLabel{.launch = model::Launch::graph};
      cell.timing = {.iterations = 1, .batches = 100, .mode = model::TimingMode::latency};
      model::CellRecord record;
      for (int launch = 0; launch < 100; ++launch)
        for (int rank = 0; rank < 2; ++rank)
          record.samples.push_back({.rank = rank,
                                    .batch = launch,
                                    .iterations = 1,
                                    .elapsed_ns = model_time_ns(bytes) + 10 * launch + replicate});
      record.check = {
          .checked = true, .elements = bytes / 4, .launches = 100, .method = "every launch"};
      for (int rank = 0; rank < 2; ++rank)
        record.conditions.push_back({.rank = rank,
                                     .when = model::Condition::When::after,
                                     .sm_clock_mhz = 1980 - 15 * rank,
                                     .temperature_c = 40 + rank,
                                     .power_mw = 300'000,
                                     .throttle_reasons = replicate == 1 && rank == 1 ? 0x4 : 0x0});
      trial.cell(cell, record);
    }
  };
  for (int replicate = 0; replicate < 2; ++replicate)
    add({}, replicate, model::Purpose::measure);
  add({{"NCCL_PROTO", "LL"}}, 0, model::Purpose::measure);
  add({{"NCCL_PROTO", "LL"}}, 0, model::Purpose::companion);
  run.header.planned_trials = static_cast<int>(run.trials.size());
  return run;
}

model::Run stopped_run() {
  auto run = RunBuilder::on_cpus(2);
  auto trial = run.trial();
  for (std::uint64_t bytes : {k_kib, 64 * k_kib})
    trial.cell(make_cell("all_reduce", bytes),
               make_record(OutcomeKind::not_run, "the run was stopped"));
  run.header.planned_trials = 6;
  return run;
}

model::Run steps_run() {
  using model::StepParts;
  RunBuilder run(4);
  run.header.argv = {"ncclprobe", "run", "--workload", "ddp", "--model", "gpt2-124m"};
  // 10 ms forward, 20 backward, 2 of optimizer; channels slow computing, fewer slow communication.
  auto lengths = [](int ranks, StepParts parts, int setting, int rank, std::int64_t shift_ns) {
    const bool both = parts == StepParts::all && ranks > 1;
    const std::int64_t compute = both ? 1000 + 30 - 15 * setting : 1000;
    const std::int64_t communicate = (both ? 1100 : 1000) + 400 * setting;
    auto ms = [&](double whole, std::int64_t permille) {
      return static_cast<std::int64_t>(whole * 1000) * permille;
    };
    StepLengths one{ms(10, compute), ms(12, compute), ms(8, compute), 0, 0, ms(2, compute)};
    if (ranks > 1) {
      one.bucket_0 = ms(6 + ranks / 2.0, communicate);
      one.bucket_1 = ms(1 + ranks / 4.0, communicate);
    }
    if (both && rank == 1)
      one.backward_2 += 400'000; // the others wait for it
    else if (both)
      one.bucket_1 += 400'000;
    one.idle = 20'000 + shift_ns;
    return one;
  };
  const std::vector<int> shifts_ns{0, 90'000, -10'000, 30'000, 60'000, 20'000, 40'000};
  for (int setting : {0, 1})
    for (int replicate = 0; replicate < (setting == 0 ? 7 : 5); ++replicate) {
      std::vector<model::Setting> settings;
      if (setting == 1)
        settings = {{"NCCL_MAX_CTAS", "4"}};
      auto trial = run.trial(settings);
      for (int ranks : {1, 2, 4})
        for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication}) {
          if (ranks == 1 && parts == StepParts::communication)
            continue;
          StepCellArguments cell{.label = {.options = {.bucket_bytes = 25 << 20},
                                           .model = "gpt2-124m",
                                           .ranks = {},
                                           .parts = parts,
                                           .batch = 8,
                                           .sequence = 1024}};
          for (int rank = 0; rank < ranks; ++rank) {
            cell.label.ranks.push_back(rank);
            cell.lengths.push_back(lengths(ranks, parts, setting, rank,
                                           shifts_ns[static_cast<std::size_t>(replicate)]));
          }
          add_step_cell(*trial, cell);
          trial->cells.back().conditions.push_back({.rank = 0,
                                                    .when = model::Condition::When::during,
                                                    .sm_clock_mhz = ranks == 4 ? 1905 : 1980});
          if (replicate == 0 && ranks == 4 && parts == StepParts::all) {
            auto& condition = trial->cells.back().conditions.emplace_back();
            condition = {.rank = 3, .when = model::Condition::When::during, .sm_clock_mhz = 1905};
            condition.memory_used_bytes = std::uint64_t{21} << 30;
            condition.throttle_reasons = setting == 0 ? 0x4 : 0;
          }
        }
    }
  // The effect of the settings, from one companion of each.
  for (int setting : {0, 1}) {
    model::TrialRecord companion = run.trials[setting == 0 ? 0 : 7];
    companion.spec.id = static_cast<int>(run.trials.size());
    companion.spec.purpose = model::Purpose::companion;
    for (int rank = 0; rank < 4; ++rank) {
      model::Evidence evidence{rank, "", "v5", {}};
      for (std::size_t c = 0; c < companion.cells.size(); ++c)
        if (companion.spec.cells[c].label.step()->communicates())
          evidence.choices.push_back({static_cast<std::int32_t>(c), "AllReduce", "ncclFloat32", 256,
                                      "RING", "SIMPLE", setting == 0 ? 16 : 4, -1});
      companion.evidence.push_back(std::move(evidence));
    }
    run.trials.push_back(std::move(companion));
  }
  run.header.planned_trials = static_cast<int>(run.trials.size());
  return run;
}

analysis::steps::TracedCells traced_steps() {
  return {{0,
           {{5,
             {.trial = 0,
              .steps = 24,
              .step_ns = 34.1e6,
              .compute_ns = 31.5e6,
              .communication_ns = 10.5e6,
              .hidden_ns = 8.4e6,
              .exposed_ns = 2.1e6}}}}};
}

model::Run empty_run() {
  auto run = RunBuilder::on_cpus(2);
  run.header.planned_trials = 6;
  return run;
}

} // namespace ncclprobe::analysis_test
