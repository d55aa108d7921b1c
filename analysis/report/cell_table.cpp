// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/cell_table.h"

#include "analysis/report/heading.h"
#include "analysis/results/bandwidth.h"
#include "analysis/results/conditions.h"
#include "analysis/results/label_key.h"
#include "analysis/step_marks/step_figures.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

// The pooled result of each cell of a trial. Points into the results, which must stay.
class PooledResults {
public:
  explicit PooledResults(const std::vector<SettingResult>& results) {
    for (const SettingResult& result : results)
      for (const ProcessTime& process : result.processes)
        by_cell_.emplace(
            Cell{process.trial, LabelKey{&result.label}, result.timing_mode, result.setting},
            &result);
  }
  // Null if there is none.
  const SettingResult* of(const model::TrialSpec& trial, const model::Cell& cell) const {
    const std::string setting = setting_name(trial, cell);
    auto found = by_cell_.find(Cell{trial.id, LabelKey{&cell.label}, cell.timing.mode, setting});
    return found == by_cell_.end() ? nullptr : found->second;
  }

private:
  using Cell = std::tuple<int, LabelKey, model::TimingMode, std::string_view>; // first: the trial
  std::map<Cell, const SettingResult*> by_cell_;
};

// A cell of a trial, with all data about it.
struct CellRow {
  const model::TrialRecord& trial;
  const model::Cell& cell;
  const model::CellRecord& record;
  const TrialSummary& summary;
  std::size_t index;

  const CellSummary& figures() const { return summary.cells[index]; }
  const std::optional<CellTime>& time() const { return figures().time; }
  int ranks() const { return communicator_size(trial.spec, cell); }
  std::optional<double> algbw() const {
    return time() && cell.timing.mode != model::TimingMode::steps
               ? algbw_gb_per_s(cell.label.bytes, time()->over_batches_ns.median)
               : std::nullopt;
  }
  Value busbw() const {
    const auto factor = busbw_factor(cell.label, ranks());
    const auto rate = algbw();
    return rate && factor ? Value(*factor * *rate) : Value();
  }
};

std::vector<CellPlace> places(const RunSummary& run) {
  std::vector<CellPlace> all;
  for (std::size_t t = 0; t < run.trials.size(); ++t) {
    const model::TrialRecord& trial = run.trials[t];
    if (trial.spec.purpose == model::Purpose::measure)
      for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c)
        all.push_back({t, c});
  }
  return all;
}

} // namespace

TablePtr cell_table(const RunFigures& figures) {
  TableOf<CellPlace> table(places(figures.run));
  const auto pooled = std::make_shared<const PooledResults>(figures.results);
  using Row = const CellRow&;
  auto add = [&, &run = figures.run](const char* key, auto get) {
    table.add(key, [get, &run](const CellPlace& place) -> Value {
      const model::TrialRecord& trial = run.trials[place.trial];
      return get(CellRow{trial, trial.spec.cells[place.cell], trial.cells[place.cell],
                         run.summaries[place.trial], place.cell});
    });
  };
  auto add_time = [&](const char* key, auto get) {
    add(key, [get](Row row) { return row.time() ? Value(get(*row.time())) : Value(); });
  };
  auto in_label = [&](const char* key, auto member) {
    add(key, [member](Row row) { return row.cell.label.*member; });
  };
  add("synthetic", [synthetic = is_synthetic(figures.run)](Row) { return synthetic; });
  add("run_id", [&header = figures.run.header](Row) { return header.run_id; });
  add("backend", [](Row row) { return row.trial.spec.backend; });
  add("trial", [](Row row) { return row.trial.spec.id; });
  add("replicate", [](Row row) { return row.trial.spec.replicate; });
  add("setting", [](Row row) { return setting_name(row.trial.spec, row.cell); });
  add("is_default", [](Row row) { return is_default(row.trial.spec, row.cell); });
  add("ranks", [](Row row) { return row.ranks(); });
  add("workload", [](Row row) { return row.cell.label.workload(); });
  in_label("size_bytes", &model::CellLabel::bytes);
  in_label("type", &model::CellLabel::type);
  in_label("op", &model::CellLabel::op);
  in_label("placement", &model::CellLabel::placement);
  in_label("root", &model::CellLabel::root);
  add("outcome", [](Row row) { return row.record.outcome.kind; });
  add("reason", [](Row row) { return row.record.outcome.reason; });
  add("failed_ranks", [](Row row) { return model::format_ranks(row.record.outcome.ranks); });
  add("batches", [](Row row) { return row.time() ? row.time()->over_batches_ns.count : 0; });
  add_time("time_us", [](const CellTime& time) { return time.over_batches_ns.median / 1e3; });
  add_time("time_min_us", [](const CellTime& time) { return time.over_batches_ns.min / 1e3; });
  add_time("time_max_us", [](const CellTime& time) { return time.over_batches_ns.max / 1e3; });
  add_time("slowest_rank", [](const CellTime& time) {
    const auto slowest = slowest_rank(*time.rank_ns);
    return slowest ? Value(slowest->rank) : Value();
  });
  add_time("slowest_rank_time_us", [](const CellTime& time) {
    const auto slowest = slowest_rank(*time.rank_ns);
    return slowest ? Value(slowest->time_ns / 1e3) : Value();
  });
  add("algbw_gb_per_s", [](Row row) { return row.algbw(); });
  add("busbw_gb_per_s", [](Row row) { return row.busbw(); });
  add("data", [](Row row) { return data_state(row.record); });
  add("checked_elements", [](Row row) { return row.record.check.elements; });
  add("wrong_elements", [](Row row) { return row.record.check.wrong; });
  add("data_note", [](Row row) {
    return data_state(row.record) == DataState::unchecked ? row.record.check.why_unchecked
                                                          : row.record.check.first_wrong;
  });
  add("variant", [](Row row) { return row.cell.label.variant(); });
  add("timing_mode", [](Row row) { return row.cell.timing.mode; });
  for (auto [key, member] :
       {std::pair("p50_us", &Latency::p50_ns), std::pair("p90_us", &Latency::p90_ns),
        std::pair("p99_us", &Latency::p99_ns), std::pair("max_us", &Latency::max_ns)})
    add(key, [member = member](Row row) {
      return row.time() && row.cell.timing.mode == model::TimingMode::latency
                 ? Value(latency_of(*row.time()).*member / 1e3)
                 : Value();
    });
  add("throttle_reasons",
      [](Row row) { return throttle_text(row.figures().readings.throttle_reasons); });
  add("checked_launches", [](Row row) { return row.record.check.launches; });
  add("check_method", [](Row row) { return row.record.check.method; });
  // The verdict on the whole setting: the same in the rows of all its processes.
  auto add_verdict = [&](const char* key, auto get) {
    add(key, [get, pooled, &verdicts = figures.verdicts](Row row) {
      const SettingResult* result = row.time() ? pooled->of(row.trial.spec, row.cell) : nullptr;
      const Comparison* one = result ? verdicts.of(*result) : nullptr;
      return one ? Value(get(*one)) : Value();
    });
  };
  add_verdict("speed_ratio", [](const Comparison& one) { return six_digits(one.speed_ratio); });
  add_verdict("speed_ratio_low", [](const Comparison& one) {
    return one.interval ? Value(six_digits(one.interval->low)) : Value();
  });
  add_verdict("speed_ratio_high", [](const Comparison& one) {
    return one.interval ? Value(six_digits(one.interval->high)) : Value();
  });
  add_verdict("adjusted_p", [](const Comparison& one) { return six_digits(one.adjusted_p); });
  add_verdict("verdict", [](const Comparison& one) { return one.verdict; });
  // How a step's time was spent, from its marks.
  using steps::StepTimes;
  for (auto [key, member] :
       {std::pair("step_forward_us", &StepTimes::forward_ns),
        std::pair("step_backward_us", &StepTimes::backward_ns),
        std::pair("step_optimizer_us", &StepTimes::optimizer_ns),
        std::pair("step_prepare_us", &StepTimes::prepare_ns),
        std::pair("step_communication_us", &StepTimes::communication_ns),
        std::pair("step_covered_us", &StepTimes::hidden_ns),
        std::pair("step_uncovered_wait_us", &StepTimes::exposed_wait_ns),
        std::pair("step_uncovered_transfer_us", &StepTimes::exposed_transfer_ns),
        std::pair("step_idle_us", &StepTimes::idle_ns),
        std::pair("step_uncovered_copy_us", &StepTimes::exposed_copy_ns)})
    add(key, [member = member](Row row) {
      const auto found = row.summary.steps.find(row.index);
      return found != row.summary.steps.end() && found->second
                 ? Value(found->second->times.*member / 1e3)
                 : Value();
    });
  add_time("launch_us", [](const CellTime& time) {
    return time.launch_ns ? Value(*time.launch_ns / 1e3) : Value();
  });
  add("imported", [imported = !figures.run.header.imported.empty()](Row) { return imported; });
  return table.table();
}

} // namespace ncclprobe::analysis
