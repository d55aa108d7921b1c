// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/imported_process.h"

#include "base/printable.h"
#include "base/text_layout.h"

#include <cmath>

namespace ncclprobe::analysis::imports {
namespace {

constexpr std::size_t k_omissions_told = 5;
constexpr double k_longest_ns = 1e17; // three years: what a program cannot have measured

} // namespace

ImportedCell& CellList::at(const model::CellLabel& label) {
  const auto [found, is_new] = index_.try_emplace(label, cells_.size());
  if (is_new)
    cells_.push_back({.label = label, .timing = {}, .record = {}, .chase = {}});
  return cells_[found->second];
}

void Omissions::add(std::size_t line, std::string_view why) {
  if (count_++ < k_omissions_told)
    first_.push_back(fmt::format("Line {} was left out: {}.", line, base::printable(why)));
}

void Omissions::tell(std::vector<std::string>& remarks) const {
  remarks.insert(remarks.end(), first_.begin(), first_.end());
  if (count_ > first_.size())
    remarks.push_back(fmt::format("{} {} left out.",
                                  base::count_of(count_ - first_.size(), "more line", "more lines"),
                                  were(count_ - first_.size())));
}

std::optional<model::Sample> sample_of(int rank, int batch, int iterations, double time_ns) {
  const double elapsed_ns = time_ns * iterations;
  if (iterations < 1 || !(elapsed_ns > 0) || elapsed_ns > k_longest_ns)
    return std::nullopt;
  return model::Sample{.rank = rank,
                       .batch = batch,
                       .iterations = iterations,
                       .elapsed_ns = std::llround(elapsed_ns)};
}

} // namespace ncclprobe::analysis::imports
