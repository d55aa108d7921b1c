// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/rank_stacks.h"

#include "base/printable.h"

#include <algorithm>
#include <utility>

namespace ncclprobe::analysis::hang {
namespace {

constexpr std::size_t k_shown_frames = 6;

struct StackRow {
  int rank = 0;
  std::int64_t process = 0;
  std::string problem;
  std::optional<stacks::ThreadStack> thread;
};

// "clock_nanosleep (libc.so.6) < nanosleep (libc.so.6) < ..."
std::string place_text(const StackRow& row) {
  if (!row.thread)
    return row.problem;
  const std::vector<std::string>& frames = row.thread->frames;
  if (frames.empty())
    return "in the kernel, where its stack cannot be read";
  std::string text;
  for (std::size_t i = 0; i < std::min(frames.size(), k_shown_frames); ++i)
    text += (i == 0 ? "" : " < ") + frames[i];
  return frames.size() > k_shown_frames ? text + " < ..." : text;
}

} // namespace

std::vector<std::size_t> ranks_to_look_at(const Job& job, const Verdict& verdict,
                                          std::size_t most) {
  std::vector<std::size_t> found;
  if (verdict.cause == Cause::none)
    return found;
  for (const Standing& one : verdict.blamed)
    if (one.of && job.ranks[*one.of].here != 0 && found.size() < most &&
        std::ranges::find(found, *one.of) == found.end())
      found.push_back(*one.of);
  return found;
}

TablePtr stacks_table(const std::vector<RankStacks>& all) {
  std::vector<StackRow> rows;
  for (const RankStacks& one : all) {
    if (one.threads.empty())
      rows.push_back({one.rank, one.process, one.problem, std::nullopt});
    for (const stacks::ThreadStack& thread : one.threads)
      rows.push_back({one.rank, one.process, "", thread});
  }
  TableOf<StackRow> table(std::move(rows));
  auto of_thread = [](auto get) {
    return [get](const StackRow& row) { return row.thread ? Value(get(*row.thread)) : Value(); };
  };
  table.add("rank", &StackRow::rank).titled("rank");
  table.add("process", &StackRow::process).titled("process");
  table.add("thread", of_thread([](const auto& thread) { return thread.thread; }));
  table.add("name", of_thread([](const auto& thread) { return thread.name; }));
  table.add("frames", of_thread([](const auto& thread) { return thread.frames; })).nested();
  table.add("problem",
            [](const StackRow& row) { return row.problem.empty() ? Value() : Value(row.problem); });
  table.show_left("stack of its main thread, innermost first",
                  [](const StackRow& row) { return base::printable(place_text(row)); });
  return table.table();
}

View main_threads(const std::vector<RankStacks>& all, TablePtr table) {
  std::vector<std::size_t> rows;
  std::size_t next = 0;
  for (const RankStacks& one : all) {
    rows.push_back(next); // its main thread comes first
    next += std::max<std::size_t>(one.threads.size(), 1);
  }
  return {.table = std::move(table), .rows = std::move(rows)};
}

} // namespace ncclprobe::analysis::hang
