// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/trial_summary.h"

#include "analysis/results/cell_summary.h"
#include "analysis/results/label_key.h"
#include "model/cell_label.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

void drop_rows(const model::Cell& cell, model::CellRecord& record) {
  // Not "= {}", which keeps the memory.
  record.conditions = std::vector<model::Condition>();
  record.marks = std::vector<model::Mark>();
  if (!cell.label.p2p())
    record.samples = std::vector<model::Sample>();
}

} // namespace

TrialSummariser::TrialSummariser(const model::TrialSpec& spec) {
  using Key = std::tuple<LabelKey, model::TimingMode, int, std::string>;
  std::map<Key, std::size_t> groups;
  for (std::size_t c = 0; c < spec.cells.size(); ++c) {
    const model::Cell& cell = spec.cells[c];
    const Key key{LabelKey{&cell.label}, cell.timing.mode, communicator_size(spec, cell),
                  model::label_of(cell.settings)};
    const auto [found, fresh] = groups.try_emplace(key, repeated_.size());
    if (fresh)
      repeated_.emplace_back();
    repeated_[found->second].last = c;
    group_of_.push_back(found->second);
  }
}

void TrialSummariser::add(const model::TrialSpec& spec, std::size_t c, model::CellRecord& record) {
  const model::Cell& cell = spec.cells.at(c);
  CellSummary& summary = summary_.cells.emplace_back();
  if (is_measured(record))
    summary.time = cell_time(record.samples);
  summary.readings = readings_of(cell, record);
  if (cell.timing.mode == model::TimingMode::steps || !record.marks.empty())
    summary_.steps.emplace(c, steps::step_figures(cell.schedule, spec.ranks, record.marks));
  add_repeated(c, record);
  memory_errors_.add(record.conditions);
  drop_rows(cell, record);
}

void TrialSummariser::add_repeated(std::size_t c, const model::CellRecord& record) {
  Repeated& group = repeated_[group_of_[c]];
  const bool alone = group.measured.empty() && group.last == c;
  if (is_measured(record) && !alone) {
    std::int32_t first_batch = 0;
    for (const model::Sample& sample : group.samples)
      first_batch = std::max(first_batch, sample.batch + 1);
    for (model::Sample sample : record.samples) {
      sample.batch += first_batch;
      group.samples.push_back(sample);
    }
    group.measured.push_back(c);
  }
  if (group.last != c)
    return;
  if (group.measured.size() > 1)
    summary_.repeated.emplace(group.measured.front(), cell_time(group.samples));
  group.samples = std::vector<model::Sample>();
}

TrialSummary TrialSummariser::summary() const {
  TrialSummary all = summary_;
  all.memory_errors = memory_errors_.errors();
  return all;
}

} // namespace ncclprobe::analysis
