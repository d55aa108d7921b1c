// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/judgement.h"

#include "analysis/verdict/size_class.h"
#include "analysis/verdict/typical_scatter.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ncclprobe::analysis::search {
namespace {

using LogTime = std::function<std::optional<double>(const MeasuredTrial&)>;

// exp of the logarithms; trials in which it is missing are left out.
std::vector<double> times_of(const std::vector<MeasuredTrial>& trials, const Candidate& process,
                             const LogTime& log_time) {
  std::vector<double> out;
  for (const MeasuredTrial& trial : trials)
    if (trial.process() == process)
      if (auto one = log_time(trial))
        out.push_back(std::exp(*one));
  return out;
}

// The default's processes fall into two arms that differ in nothing. Returns their ratio, above 1.
// Each stage's times count relative to its mean, so drift between stages does not count.
double floor_of(const Evidence& evidence, const Candidate& process, const LogTime& log_time) {
  std::array<double, 2> sums{}, counts{};
  std::size_t at = 0;
  for (const auto* trials : {&evidence.floor, &evidence.confirmed}) {
    const std::vector<double> times = times_of(*trials, process, log_time);
    if (times.size() < 2)
      continue;
    const double mean = std::log(geometric_mean(times));
    for (double time : times) {
      sums[at % 2] += std::log(time) - mean;
      ++counts[at++ % 2];
    }
  }
  if (counts[1] == 0)
    return 1;
  return std::exp(std::abs(sums[0] / counts[0] - sums[1] / counts[1]));
}

Gain gain_of(const RatioTest& test, std::size_t processes) {
  return {.speed = test.ratio, .interval = test.interval, .processes = static_cast<int>(processes)};
}

// Several tests of one question: the most careful answer counts.
struct Answer {
  Gain gain;
  double p = 1;         // that the speed is not above what is needed
  bool hopeless = true; // the interval lies below what is needed
};

Answer most_careful(const std::vector<RatioTest>& tests, std::size_t processes, double needed) {
  Answer out{.gain = gain_of(tests.front(), processes), .p = 0};
  for (const RatioTest& test : tests) {
    out.gain.interval.low = std::min(out.gain.interval.low, test.interval.low);
    out.gain.interval.high = std::max(out.gain.interval.high, test.interval.high);
    out.p = std::max(out.p, p_above(test, needed));
  }
  out.hopeless = out.gain.interval.high < needed;
  return out;
}

Reason reason_of(const Candidate& candidate, std::optional<std::size_t> target, Fate fate,
                 const Gain& gain, double needed) {
  return {.candidate = candidate,
          .target = target,
          .fate = fate,
          .stage = Stage::confirm,
          .speed = gain.speed,
          .interval = gain.interval,
          .needed = needed,
          .processes = gain.processes};
}

class Judge {
public:
  Judge(const Space& space, const Finalists& finalists, const Evidence& evidence, double min_gain,
        const ErrorRates& rates)
      : space_(space), finalists_(finalists), evidence_(evidence), least_(1 + min_gain),
        rates_(rates), unset_(default_candidate(space)) {}

  Judgement judge() {
    judge_settings();
    judge_rows();
    return std::move(out_);
  }

private:
  struct Row {
    std::size_t target = 0;
    Candidate candidate;
    std::vector<double> ratios; // one for each process: without / with the in-process values
    double needed = 1;
    Answer answer;
    bool proven = false;
  };

  LogTime all_targets(const Candidate& candidate) const {
    return [&](const MeasuredTrial& trial) { return trial.log_time(space_, candidate); };
  }
  LogTime one_target(std::size_t target, const Candidate& candidate) const {
    return [&, target](const MeasuredTrial& trial) { return trial.log_time(target, candidate); };
  }

  // Fresh processes with the settings against those without: Welch's test, and Student's with the
  // scatter of both sides and of the floor's trials. Empty if a side has fewer than two.
  std::vector<RatioTest> settings_tests(const LogTime& of_default,
                                        const LogTime& of_settings) const {
    const auto without = times_of(evidence_.confirmed, unset_, of_default);
    const auto with = times_of(evidence_.confirmed, *finalists_.process, of_settings);
    const auto own = welch_ratio(without, with, k_confidence);
    if (!own)
      return {};
    LogScatter of_all = pooled(*log_scatter(without), *log_scatter(with));
    if (auto floor = log_scatter(times_of(evidence_.floor, unset_, of_default)))
      of_all = pooled(of_all, *floor);
    return {*own, ratio_test(own->ratio, without.size(), with.size(), of_all, k_confidence)};
  }

  // Settings win if their speed over all targets is above what is needed. If targets that scatter
  // leave that open, they also win if it is above the floor, that of some target alone is above
  // what is needed, and none is shown to be slower. Both rules require at alpha that the speed is
  // above the floor, so settings that are no faster win with a probability of at most alpha.
  void judge_settings() {
    Decision& decision = out_.settings;
    decision.candidate = unset_;
    decision.floor = floor_of(evidence_, unset_, all_targets(unset_));
    decision.needed = std::max(decision.floor, least_);
    if (!finalists_.process)
      return;
    const Candidate& process = *finalists_.process;
    const std::size_t with = times_of(evidence_.confirmed, process, all_targets(process)).size();
    const auto tests = settings_tests(all_targets(unset_), all_targets(process));
    if (tests.empty()) { // it failed, or the budget ended
      out_.decided =
          with == 0 && !times_of(evidence_.confirmed, unset_, all_targets(unset_)).empty();
      return;
    }
    Answer answer = most_careful(tests, with, decision.needed);
    const double alpha = rates_.winner / 2;
    if (answer.p >= alpha && !answer.hopeless && p_of_some_target(process) < alpha)
      if (const Answer above_floor = most_careful(tests, with, decision.floor);
          above_floor.p < alpha) {
        answer = above_floor;
        decision.needed = decision.floor;
      }
    decision.proven = answer.p < alpha;
    if (decision.proven) {
      decision.candidate = process;
      decision.over_default = answer.gain;
    }
    out_.decided = decision.proven || answer.hopeless;
    out_.reasons.push_back(reason_of(process, {}, decision.proven ? Fate::won : Fate::not_proven,
                                     answer.gain, decision.needed));
  }

  // The p-value of the claim that some target's speed is above what it needs (Bonferroni). 1 if a
  // target is shown to be slower. Every target has two times of each side, because all_targets()
  // has.
  double p_of_some_target(const Candidate& process) const {
    const auto count = static_cast<double>(space_.targets.size());
    double least_p = 1;
    for (std::size_t target = 0; target < space_.targets.size(); ++target) {
      const auto tests = settings_tests(one_target(target, unset_), one_target(target, process));
      if (std::ranges::any_of(tests, [](const RatioTest& test) { return test.interval.high < 1; }))
        return 1;
      const double floor = floor_of(evidence_, unset_, one_target(target, unset_));
      least_p = std::min(least_p, most_careful(tests, 0, std::max(floor, least_)).p);
    }
    return std::min(1.0, count * least_p);
  }

  // Cells with the in-process values against cells without them, of the same processes.
  std::vector<Row> rows_under(const Candidate& process) const {
    std::vector<Row> rows;
    for (std::size_t target = 0; target < space_.targets.size(); ++target)
      for (const Candidate& values : finalists_.in_process[target]) {
        Row row{.target = target, .candidate = joined(space_, process, values)};
        row.ratios = times_of(evidence_.confirmed, process, [&](const MeasuredTrial& trial) {
          auto without = trial.log_time(target, process);
          auto with = trial.log_time(target, row.candidate);
          return without && with ? std::optional(*without - *with) : std::nullopt;
        });
        if (row.ratios.size() >= 2)
          rows.push_back(std::move(row));
      }
    return rows;
  }

  // The scatter of all rows of that size class says more than a row's own five ratios: a cell may
  // have two speeds (analysis/verdict/typical_scatter.h).
  std::array<std::vector<LogScatter>, k_size_classes> scatters(const std::vector<Row>& rows) const {
    std::array<std::vector<LogScatter>, k_size_classes> out;
    for (const Row& row : rows)
      out[class_of(row.target)].push_back(*log_scatter(row.ratios));
    return out;
  }
  std::size_t class_of(std::size_t target) const {
    return static_cast<std::size_t>(size_class(space_.targets[target].bytes));
  }

  void judge_rows() {
    const Candidate& process = out_.settings.candidate;
    for (std::size_t target = 0; target < space_.targets.size(); ++target) {
      const double floor = floor_of(evidence_, unset_, one_target(target, unset_));
      out_.table.push_back({.candidate = process,
                            .over_default = gain_over_default(target, process),
                            .floor = floor,
                            .needed = std::max(least_, floor)});
    }
    std::vector<Row> rows = rows_under(process);
    test_rows(rows, RowRule::first);
    // A table that exists costs its user no more with another row. Without settings, the first rule
    // decides alone.
    if (out_.settings.proven && std::ranges::any_of(rows, &Row::proven))
      test_rows(rows, RowRule::further);
    give_reasons_for_others();
    for (const Row& row : rows)
      decide(row);
  }

  // What makes a row worth a table (it gains `needed` over the settings alone), or a place in one
  // (it is faster than the settings, and than the default by `needed`).
  enum class RowRule : std::uint8_t { first, further };

  double alpha_of(RowRule rule) const {
    return rule == RowRule::first ? rates_.winner / 2 : rates_.further_row;
  }
  // Tests each row that is not proven yet by that rule. Both rules require that a row is faster
  // than the settings, so rows that are not win with a probability of at most the larger alpha.
  void test_rows(std::vector<Row>& rows, RowRule rule) const {
    const auto of_class = scatters(rows);
    std::vector<Row> tested = rows;
    std::vector<double> p_values;
    for (Row& row : tested) {
      test(row, typical(of_class[class_of(row.target)]), rule);
      p_values.push_back(row.answer.p);
    }
    const std::vector<double> adjusted = holm_adjusted(p_values);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].proven)
        continue;
      // By one rule a row may be hopeless and by the other not.
      tested[i].answer.hopeless =
          tested[i].answer.hopeless && (rule == RowRule::first || rows[i].answer.hopeless);
      tested[i].proven = adjusted[i] < alpha_of(rule);
      rows[i] = tested[i];
    }
  }
  void test(Row& row, const LogScatter& typical_one, RowRule rule) const {
    const auto own = *paired_ratio(row.ratios, k_confidence);
    const Decision& decision = out_.table[row.target];
    row.needed = rule == RowRule::first ? decision.needed : decision.floor;
    row.answer =
        most_careful({own, paired_ratio(own.ratio, row.ratios.size(), typical_one, k_confidence)},
                     row.ratios.size(), row.needed);
    if (rule == RowRule::first)
      return;
    const auto whole = over_default(row.target, row.candidate);
    const double p = whole ? p_above(*whole, decision.needed) : 1;
    if (p <= row.answer.p)
      return;
    // The reason shows the comparison that the row passes less clearly.
    row.needed = decision.needed;
    row.answer = {.gain = whole ? gain_of(*whole, row.ratios.size()) : Gain{},
                  .p = p,
                  .hopeless =
                      row.answer.hopeless || (whole && whole->interval.high < decision.needed)};
  }

  // In-process values under the process parameters that were not chosen.
  void give_reasons_for_others() {
    if (!finalists_.process)
      return;
    const Candidate& other = out_.settings.proven ? unset_ : *finalists_.process;
    for (const Row& row : rows_under(other)) {
      const auto own = *paired_ratio(row.ratios, k_confidence);
      out_.reasons.push_back(reason_of(row.candidate, row.target, Fate::not_chosen,
                                       gain_of(own, row.ratios.size()),
                                       out_.table[row.target].needed));
    }
  }

  void decide(const Row& row) {
    Decision& decision = out_.table[row.target];
    out_.decided = out_.decided && (row.proven || row.answer.hopeless);
    Fate fate = Fate::not_proven;
    if (row.proven) {
      fate = Fate::won;
      decision.proven = true;
      decision.candidate = row.candidate;
      decision.over_default = gain_over_default(row.target, row.candidate);
    }
    out_.reasons.push_back(reason_of(row.candidate, row.target, fate, row.answer.gain, row.needed));
  }

  std::optional<RatioTest> over_default(std::size_t target, const Candidate& candidate) const {
    return welch_ratio(times_of(evidence_.confirmed, unset_, one_target(target, unset_)),
                       times_of(evidence_.confirmed, process_part(space_, candidate),
                                one_target(target, candidate)),
                       k_confidence);
  }
  // For information: its own interval, without a decision.
  Gain gain_over_default(std::size_t target, const Candidate& candidate) const {
    const auto processes = times_of(evidence_.confirmed, process_part(space_, candidate),
                                    one_target(target, candidate))
                               .size();
    if (candidate == unset_)
      return {.processes = static_cast<int>(processes)};
    const auto test = over_default(target, candidate);
    return test ? gain_of(*test, processes) : Gain{};
  }

  const Space& space_;
  const Finalists& finalists_;
  const Evidence& evidence_;
  double least_;
  ErrorRates rates_;
  Candidate unset_;
  Judgement out_;
};

} // namespace

Judgement judge(const Space& space, const Finalists& finalists, const Evidence& evidence,
                double min_gain, const ErrorRates& rates) {
  return Judge(space, finalists, evidence, min_gain, rates).judge();
}

} // namespace ncclprobe::analysis::search
