// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/rank_watch.h"

namespace ncclprobe::launch {

RankWatch::RankWatch(int rank, const model::TrialSpec& spec, std::int64_t now_ns)
    : spec_(spec), cells_(static_cast<int>(spec.cells.size())) {
  report_.rank = rank;
  allow(spec.startup_deadline_ns, now_ns);
}

void RankWatch::allow(std::int64_t limit_ns, std::int64_t now_ns) {
  limit_ns_ = limit_ns;
  deadline_ns_ = now_ns + limit_ns;
}

// Between two cells the deadline is the next cell's; after the last cell it is the teardown's.
void RankWatch::allow_next_cell(int cell, std::int64_t now_ns) {
  allow(cell < cells_ ? spec_.cells[cell].deadline_ns : spec_.teardown_deadline_ns, now_ns);
}

std::optional<std::string> RankWatch::on_hello() {
  if (report_.phase != WorkerPhase::spawned)
    return "sent hello twice";
  report_.phase = WorkerPhase::started;
  return std::nullopt;
}

std::optional<std::string> RankWatch::on_phase(const wire::Phase& phase, std::int64_t now_ns) {
  const auto [next, cell] = phase;
  if (next < report_.phase || next > WorkerPhase::cell)
    return fmt::format("sent {} after {}", base::to_string(next), base::to_string(report_.phase));
  if (next == WorkerPhase::cell) {
    if (cell < 0 || cell >= cells_)
      return fmt::format("entered cell {} of {}", cell, cells_);
    if (report_.results.contains(cell))
      return fmt::format("entered cell {} again", cell);
    report_.cell = cell;
    allow_next_cell(cell, now_ns);
  }
  report_.phase = next;
  return std::nullopt;
}

std::optional<std::string> RankWatch::on_cell_end(wire::CellEnd end, std::int64_t now_ns) {
  if (end.cell < 0 || end.cell >= cells_)
    return fmt::format("ended cell {} of {}", end.cell, cells_);
  if (report_.results.contains(end.cell))
    return fmt::format("ended cell {} twice", end.cell);
  for (const model::Sample& sample : end.result.samples)
    if (sample.rank != report_.rank)
      return fmt::format("sent a sample of rank {}", sample.rank);
  report_.results[end.cell] = std::move(end.result);
  report_.cell = end.cell;
  report_.phase = WorkerPhase::cell;
  allow_next_cell(end.cell + 1, now_ns);
  return std::nullopt;
}

std::optional<std::string> RankWatch::on_evidence(model::Evidence evidence) {
  if (evidence.rank != report_.rank)
    return fmt::format("sent evidence of rank {}", evidence.rank);
  report_.evidence = std::move(evidence);
  return std::nullopt;
}

std::optional<std::string> RankWatch::on_done(std::int64_t now_ns) {
  if (cells_ended() < cells_)
    return fmt::format("sent done with {} of {} cells ended", cells_ended(), cells_);
  report_.phase = WorkerPhase::teardown;
  allow(spec_.teardown_deadline_ns, now_ns);
  return std::nullopt;
}

void RankWatch::on_exit() {
  deadline_ns_ = k_never;
  if (done())
    report_.phase = WorkerPhase::done;
}

void RankWatch::hold() {
  deadline_ns_ = k_never;
}

void RankWatch::go_on(std::int64_t now_ns) {
  allow(done() ? spec_.teardown_deadline_ns : spec_.startup_deadline_ns, now_ns);
}

} // namespace ncclprobe::launch
