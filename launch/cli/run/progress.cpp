// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/run/progress.h"

#include "base/clock.h"
#include "base/console.h"
#include "base/units.h"
#include "workload/expected_time.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

constexpr int k_bar_width = 24;
constexpr std::int64_t k_redraw_ns = 100'000'000;
// The expectation has the weight of this share of the run, or of this much time, that was observed.
constexpr double k_trust = 0.1;
constexpr double k_trust_ns = 1e9;

// Progress is for people. A full or closed stderr must not stop a run.
void say(const std::string& text) {
  (void)base::print(base::StandardStream::err, text);
}

} // namespace

Progress::Style Progress::style_for(bool quiet) {
  if (quiet)
    return Style::silent;
  return base::is_terminal(base::StandardStream::err) ? Style::bar : Style::lines;
}

Progress::Progress(Style style, int trials, double expected_ns)
    : style_(style), trials_(trials), expected_ns_(expected_ns), started_ns_(base::monotonic_ns()) {
}

Progress::~Progress() {
  clear();
}

void Progress::skip(int trials, double expected_ns_left) {
  done_ = trials;
  expected_ns_ = expected_ns_left;
}

void Progress::expect(const model::TrialSpec& trial) {
  ++trials_;
  expected_ns_ += workload::expected_trial_ns(trial);
}

void Progress::begin_trial(const model::TrialSpec& spec) {
  name_ = spec.name;
  if (spec.purpose == model::Purpose::companion)
    name_ += " (companion)";
  if (spec.purpose == model::Purpose::traced)
    name_ += " (traced)";
  cell_names_.clear();
  expected_at_cell_ns_ = {workload::expected_start_ns(spec)};
  for (const model::Cell& cell : spec.cells) {
    cell_names_.push_back(cell.label.workload() + " " + base::format_bytes(cell.label.bytes));
    expected_at_cell_ns_.push_back(expected_at_cell_ns_.back() +
                                   workload::expected_cell_ns(spec, cell));
  }
  now_ = {};
  now_.cells = static_cast<int>(spec.cells.size());
  draw();
}

void Progress::update(const launch::TrialProgress& progress) {
  now_ = progress;
  if (base::monotonic_ns() - drawn_ns_ >= k_redraw_ns)
    draw();
}

void Progress::end_trial(const model::TrialRecord& record) {
  ++done_;
  done_expected_ns_ += expected_at_cell_ns_.back();
  now_ = {};
  if (!record.outcome.ok() && record.outcome.kind != model::OutcomeKind::skipped &&
      record.outcome.kind != model::OutcomeKind::not_run)
    ++failed_;
  if (style_ == Style::lines) {
    std::string how = record.outcome.ok() ? "ok"
                                          : fmt::format("{}: {}", to_string(record.outcome.kind),
                                                        record.outcome.reason);
    bool goes_on = done_ < trials_ && record.outcome.kind != model::OutcomeKind::not_run;
    say(fmt::format("[{}/{}] {}  {}  {}{}{}\n", done_, trials_, name_,
                    base::format_duration(static_cast<double>(record.total_ns)), how,
                    failed_ > 0 ? fmt::format("  {} failed so far", failed_) : "",
                    goes_on ? "  (" + time_left() + ")" : ""));
  } else if (style_ == Style::bar && !record.outcome.ok()) {
    say(fmt::format("{}: {}: {}\n", name_, to_string(record.outcome.kind), record.outcome.reason));
  }
  done_ < trials_ ? draw() : clear();
}

double Progress::share() const {
  return (done_ + (now_.cells > 0 ? static_cast<double>(now_.cells_done) / now_.cells : 0)) /
         trials_;
}

// The expected rest, times the error of the expectation so far.
std::string Progress::time_left() const {
  const double elapsed = static_cast<double>(base::monotonic_ns() - started_ns_);
  const auto cells = static_cast<std::size_t>(now_.cells_done);
  const double done =
      done_expected_ns_ +
      (cells > 0 && cells < expected_at_cell_ns_.size() ? expected_at_cell_ns_[cells] : 0);
  const double trust = k_trust * expected_ns_ + k_trust_ns;
  const double left = (expected_ns_ - done) * (elapsed + trust) / (done + trust);
  return fmt::format("about {} left", workload::expected_text(std::max(left, 1e9)));
}

std::string Progress::where() const {
  auto cell = static_cast<std::size_t>(now_.cells_done);
  if (now_.phase == launch::WorkerPhase::cell && cell < cell_names_.size())
    return cell_names_[cell];
  return now_.phase == launch::WorkerPhase::spawned ? "starting"
                                                    : std::string(base::to_string(now_.phase));
}

void Progress::draw() {
  if (style_ != Style::bar)
    return;
  drawn_ns_ = base::monotonic_ns();
  const auto full = static_cast<std::size_t>(k_bar_width * share());
  const std::string line = fmt::format(
      "{}  {}/{} {}  {}{}  [{:.<{}}]", time_left(), done_ + 1, trials_, name_, where(),
      failed_ > 0 ? fmt::format("  {} failed", failed_) : "", std::string(full, '#'), k_bar_width);
  base::redraw_line(line);
}

void Progress::clear() {
  if (style_ == Style::bar)
    base::redraw_line("");
}

} // namespace ncclprobe::cli
