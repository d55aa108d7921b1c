// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/message_section.h"

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_words.h"
#include "base/text_table.h"

#include <algorithm>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

std::string waits_table(const MessageWaits::OfCell& found, bool per_step) {
  std::vector<const MessageWaits::OfRank*> shown;
  for (const MessageWaits::OfRank& rank : found.ranks)
    shown.push_back(&rank);
  std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) {
    return a->delay.value_ns > b->delay.value_ns;
  });
  if (shown.size() > k_most_rows)
    shown.resize(k_most_rows);
  const char* unit = per_step ? "step" : "kernel";
  base::TextTable table({{"rank"},
                         {fmt::format("waits per {}", unit)},
                         {"most for"},
                         {"awaited"},
                         {fmt::format("delay per {}", unit)},
                         {"95%, us"}});
  for (const MessageWaits::OfRank* rank : shown)
    table.add_row(
        {std::to_string(rank->rank), rank->kernels > 0 ? format_us(rank->wait) : "-",
         rank->most_for < 0 ? "-" : std::to_string(rank->most_for), grouped(rank->times_awaited),
         rank->delay.value_ns > 0 ? format_us(rank->delay) : "-", range_us(rank->delay_interval)});
  std::string out = table.render(2);
  if (shown.size() < found.ranks.size())
    out += fmt::format("  The {} worst of {} ranks; --format json has all.\n", shown.size(),
                       found.ranks.size());
  return out;
}

} // namespace

std::string render_messages(const timeline::MessageWaits& found) {
  const RankMessages& all = found.all;
  std::uint64_t met = all.halves[static_cast<std::size_t>(MatchState::matched)];
  std::uint64_t halves = met + all.unmatched_halves();
  if (halves + all.kernels_untold + all.without_kernel == 0)
    return "";
  std::string out = "Who waits for whom (sends and receives)\n";
  std::string text = "No send or receive is known by its ranks.";
  if (halves > 0)
    text = fmt::format("{} of sends and receives were matched with their other side.",
                       share(met, halves));
  if (all.sent_ahead > 0)
    text += fmt::format(" {} had ended before their receive began, and did not wait.",
                        count_of(all.sent_ahead, "send", "sends"));
  if (all.clock_unknown > 0)
    text += fmt::format(" {} are of ranks whose clock is not known.", grouped(all.clock_unknown));
  if (all.kernels_untold > 0)
    text += fmt::format(" It is unknown what {} send or receive (the run file has that, the "
                        "trace alone does not).",
                        count_of(all.kernels_untold, "kernel", "kernels"));
  if (all.without_kernel > 0)
    text += fmt::format(" {} that NCCL reported have no kernel.",
                        count_of(all.without_kernel, "send or receive", "sends and receives"));
  out += paragraph("  ", text, 2);
  std::uint64_t named = 0;
  for (const UnmatchedHalf& one : all.unmatched) {
    out += paragraph("  -", describe(one) + ".", 4);
    ++named;
  }
  if (std::uint64_t rest = all.unmatched_halves() - all.clock_unknown - named; rest > 0)
    out += fmt::format("  - and {} more.\n", grouped(rest));
  std::vector<std::pair<int, const MessageWaits::OfCell*>> cells;
  for (const auto& [cell, waits] : found.cells)
    if (!waits.ranks.empty())
      cells.emplace_back(cell, &waits);
  const std::size_t count = cells.size();
  std::ranges::stable_sort(cells, std::ranges::greater{}, [](const auto& cell) {
    double delay_ns = 0; // of all steps
    for (const MessageWaits::OfRank& rank : cell.second->ranks)
      delay_ns += rank.delay.value_ns * static_cast<double>(cell.second->steps);
    return delay_ns;
  });
  cells.resize(std::min(count, k_most_cells));
  for (const auto& [cell, waits] : cells) {
    if (count > 1)
      out += fmt::format("  In cell {}\n", cell);
    out += waits_table(*waits, found.per_step);
  }
  if (cells.size() < count)
    out += fmt::format("  {} of {} cells; --format json has all.\n", cells.size(), count);
  return out;
}

} // namespace ncclprobe::analysis
