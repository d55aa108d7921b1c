// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/progress.h"

#include "base/clock.h"
#include "base/units.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

constexpr int k_bar_width = 24;
constexpr std::int64_t k_redraw_ns = 100'000'000;

std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

} // namespace

Progress::Style Progress::style_for(bool quiet, int stderr_fd) {
  if (quiet)
    return Style::silent;
  return isatty(stderr_fd) ? Style::bar : Style::lines;
}

Progress::Progress(Style style, int trials, double expected_ns)
    : style_(style), trials_(trials), expected_ns_(expected_ns), started_ns_(base::monotonic_ns()) {
}

Progress::~Progress() {
  clear();
}

void Progress::begin_trial(const model::TrialSpec& spec) {
  name_ = spec.name;
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
  now_ = {};
  if (!record.outcome.ok())
    ++failed_;
  if (style_ == Style::lines) {
    std::string how = record.outcome.ok() ? "ok"
                                          : fmt::format("{}: {}", to_string(record.outcome.kind),
                                                        record.outcome.reason);
    fmt::print(stderr, "[{}/{}] {}  {}  {}{}\n", done_, trials_, name_,
               base::format_duration(static_cast<double>(record.total_ns)), how,
               done_ < trials_ ? "  (" + eta() + " left)" : "");
  } else if (style_ == Style::bar && !record.outcome.ok()) {
    clear();
    fmt::print(stderr, "{}: {}: {}\n", name_, to_string(record.outcome.kind),
               record.outcome.reason);
  }
  draw();
}

std::string Progress::eta() const {
  double elapsed = static_cast<double>(base::monotonic_ns() - started_ns_);
  double part = now_.cells > 0 ? static_cast<double>(now_.cells_done) / now_.cells : 0;
  double left =
      done_ > 0 ? elapsed / (done_ + part) * (trials_ - done_ - part) : expected_ns_ - elapsed;
  return "about " + base::format_duration(std::max(left, 1e9));
}

void Progress::draw() {
  if (style_ != Style::bar || done_ == trials_)
    return;
  drawn_ns_ = base::monotonic_ns();
  double part = now_.cells > 0 ? static_cast<double>(now_.cells_done) / now_.cells : 0;
  int full = static_cast<int>(k_bar_width * (done_ + part) / trials_);
  std::string line = fmt::format(
      "[{}{}] trial {}/{}  {}  {}{}  {} left", std::string(static_cast<std::size_t>(full), '#'),
      std::string(static_cast<std::size_t>(k_bar_width - full), '.'), done_ + 1, trials_, name_,
      now_.phase.empty() ? "starting" : now_.phase,
      failed_ > 0 ? fmt::format("  {} failed", failed_) : "", eta());
  if (line.size() >= terminal_columns())
    line.resize(terminal_columns() - 1); // a wrapped line cannot be redrawn
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

void Progress::clear() {
  if (style_ == Style::bar)
    std::fputs("\r\033[K", stderr);
}

} // namespace ncclprobe::cli
