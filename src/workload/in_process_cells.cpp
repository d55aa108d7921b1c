// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/in_process_cells.h"

#include "model/in_process.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

namespace ncclprobe::workload {

using namespace model;

Result<void> check_axes(const std::vector<Axis>& axes) {
  std::set<std::string> seen;
  for (const Axis& axis : axes) {
    if (!seen.insert(axis.name).second)
      return fail(Error{Errc::invalid_argument, fmt::format("{} is swept twice", axis.name),
                        "give all its values at once: " + axis.name + "=a,b"});
    if (axis.values.empty())
      return fail(Errc::invalid_argument, "axis {} has no values", axis.name);
  }
  return {};
}

Result<std::vector<std::vector<Setting>>> in_process_grid(const std::string& backend,
                                                          const std::vector<Axis>& axes) {
  NCCLPROBE_TRY(check_axes(axes));
  if (axes.empty())
    return std::vector<std::vector<Setting>>{};
  std::vector<std::vector<Setting>> grid{{}};
  for (const Axis& axis : axes) {
    std::vector<std::vector<Setting>> longer;
    for (const std::vector<Setting>& settings : grid)
      for (const std::string& value : axis.values) {
        NCCLPROBE_TRY(check_in_process(backend, {axis.name, value}));
        longer.push_back(settings);
        longer.back().push_back({axis.name, value});
      }
    grid = std::move(longer);
  }
  std::vector<std::vector<Setting>> distinct;
  for (std::vector<Setting>& settings : grid)
    if (std::ranges::find(distinct, settings) == distinct.end())
      distinct.push_back(std::move(settings));
  return distinct;
}

std::vector<Setting> as_variables(const std::string& backend,
                                  const std::vector<Setting>& settings) {
  std::vector<Setting> variables;
  for (const Setting& setting : settings)
    for (const InProcessSetting& known : in_process_settings(backend))
      if (known.name == setting.name && !known.variable.empty())
        variables.push_back({std::string(known.variable), setting.value});
  return variables;
}

bool takes_settings(const Cell& cell) {
  return cell.label.collective() != nullptr || cell.label.step() != nullptr;
}

CellBlocks
in_process_blocks(const std::vector<Cell>& cells, const std::vector<std::vector<Setting>>& grid,
                  const std::function<bool(const Cell&, const std::vector<Setting>&)>& is_possible,
                  Defaults defaults) {
  CellBlocks blocks;
  for (const Cell& cell : cells) {
    std::vector<Cell>& block = blocks.emplace_back(1, cell);
    if (takes_settings(cell))
      for (const std::vector<Setting>& settings : grid)
        if (is_possible(cell, settings)) {
          block.push_back(cell);
          block.back().settings = settings;
        }
    if (block.size() > 1 && defaults == Defaults::twice)
      block.push_back(cell);
  }
  return blocks;
}

std::vector<Cell> in_random_order(CellBlocks blocks, std::uint64_t seed, int trial) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(trial)};
  std::mt19937_64 random(words);
  std::vector<Cell> all;
  for (std::vector<Cell>& block : blocks) {
    for (std::size_t i = block.size(); i > 1; --i)
      std::swap(block[i - 1], block[random() % i]);
    std::ranges::move(block, std::back_inserter(all));
  }
  return all;
}

} // namespace ncclprobe::workload
