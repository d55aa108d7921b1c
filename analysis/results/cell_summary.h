// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"
#include "analysis/statistics/inference.h"

#include <optional>
#include <string>
#include <vector>

// From samples to one figure per setting and cell:
//   1. a batch's time per operation = mean over ranks of elapsed / iterations, as nccl-tests
//   combines
//      ranks by default (-a 1, common.cu:690-790);
//   2. a process's time = median over its batches;
//   3. a setting's time = median over its processes (fresh ones, all with the same settings).
// In latency mode a launch, timed by itself, stands for a batch.
// Batches of one process depend on each other, processes do not: with two processes or
// more the spread is that of the processes, else, that of the batches.
namespace ncclprobe::analysis {

// Size of the communicator of the cell's timed operation: n of busbw.
int communicator_size(const model::TrialSpec& trial, const model::Cell& cell);

enum class DataState { checked, unchecked, wrong };
DataState data_state(const model::CellRecord& record);

// True if the record's times may be used: it finished (its data may be wrong).
bool is_measured(const model::CellRecord& record);

// The name under which users know a trial's and cell's settings ("default" if there are none).
std::string setting_name(const model::TrialSpec& trial, const model::Cell& cell);
bool is_default(const model::TrialSpec& trial, const model::Cell& cell);

// A cell of a run summary.
struct CellPlace {
  std::size_t trial = 0; // in RunSummary::trials
  std::size_t cell = 0;  // of the trial
};

struct ProcessTime {
  int trial = 0;
  int replicate = 0;
  CellTime time;
  std::uint64_t throttle_reasons = 0; // conditions.h
  std::vector<double> each_ns;        // of each time that the process measured it, in order
  CellPlace place;                    // for a cell that was measured several times, the first
};

// One setting and kind of cell, with all processes that measured it.
struct SettingResult {
  std::string setting;
  std::vector<model::Setting> settings; // common to all ranks, then in-process
  bool is_default = false;
  bool in_process = false; // some of the settings are of its cells: others shared its processes
  model::CellLabel label;
  model::TimingMode timing_mode = model::TimingMode::batch;
  int ranks = 0;                      // in the communicator
  std::vector<ProcessTime> processes; // at least one

  double time_ns = 0; // median over processes of their medians over batches
  enum class SpreadOver { nothing, batches, processes } spread_over = SpreadOver::nothing;
  int spread_count = 1; // how many batches or processes
  double lowest_ns = 0; // of the same
  double highest_ns = 0;
  std::optional<Interval> interval_ns;  // interval of the median over processes; needs six or more
  std::optional<double> spread_percent; // (highest - lowest) / time; absent for a single value

  std::optional<double> algbw_gb_per_s; // absent for steps of training
  std::optional<double> busbw_gb_per_s; // absent for anything but collectives
  std::optional<SlowestRank> slowest;   // by median over processes
  std::optional<double> launch_ns;      // median over processes that measured it

  // Latency mode: percentiles of each process, and their medians over processes; the maximum is
  // over all launches.
  std::optional<Latency> latency;

  int throttled_processes = 0; // processes in which a GPU ran slower than requested
  std::uint64_t throttle_reasons = 0;

  DataState data = DataState::checked;    // the worst of all processes
  std::uint64_t checked_elements = 0;     // of all processes; 0 also where a size has no elements
  std::uint64_t checked_launches = 0;     // of all processes
  std::vector<std::string> check_methods; // which launches were checked; no duplicates
  std::vector<std::string> data_notes;    // why unchecked, or the first error; no duplicates
  std::string not_as_asked; // why its times do not belong to the requested libraries or CPUs
};

// Median time of each process, and whether every process has one.
std::vector<double> process_times_ns(const SettingResult& result);
bool has_times(const SettingResult& result);

// All results of a run's trials with that purpose; companions are not measurements. Ordered by
// collective (then other workloads in order of appearance), type, operation, root, ranks, variant,
// timing mode, size and placement; then the default, then the other settings by name.
std::vector<SettingResult> setting_results(const RunSummary& run,
                                           model::Purpose purpose = model::Purpose::measure);

} // namespace ncclprobe::analysis
