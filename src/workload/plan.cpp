// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/plan.h"

#include "base/stored_variables.h"
#include "base/units.h"
#include "workload/launch_benchmark.h"
#include "workload/pruning.h"
#include "workload/schedule_rules.h"
#include "workload/traced_twin.h"

#include <algorithm>
#include <cctype>
#include <random>
#include <ranges>
#include <set>
#include <tuple>

namespace ncclprobe::workload {
namespace {

using namespace model;

bool is_pinned(const PlanRequest& request, const std::string& name) {
  auto overridden = std::ranges::find(request.overrides, name);
  return request.environment.contains(name) && overridden == request.overrides.end();
}

void note_pinned(const PlanRequest& request, Plan& plan, const std::string& name) {
  Setting pinned{name, base::stored_value(name, request.environment.at(name))};
  if (std::ranges::find(plan.pinned, pinned) == plan.pinned.end())
    plan.pinned.push_back(pinned);
}

// Every requested combination, including those without meaning.
std::vector<CollectiveRequest> collective_requests(const PlanRequest& request) {
  std::vector<CollectiveRequest> all{{}};
  all.front().ranks = request.ranks;
  all.front().memory = request.memory;
  auto vary = [&](const auto& values, auto set) {
    std::vector<CollectiveRequest> longer;
    for (const CollectiveRequest& one : all)
      for (const auto& value : values) {
        longer.push_back(one);
        set(longer.back(), value);
      }
    all = std::move(longer);
  };
  std::vector<std::pair<std::uint64_t, std::optional<std::uint64_t>>> amounts; // bytes or a count
  for (std::uint64_t bytes : request.sizes)
    amounts.push_back({bytes, std::nullopt});
  for (std::uint64_t count : request.counts)
    amounts.push_back({0, count});
  vary(request.collectives, [](auto& one, Collective value) { one.collective = value; });
  vary(request.types, [](auto& one, DataType value) { one.type = value; });
  vary(request.ops, [](auto& one, ReduceOp value) { one.op = value; });
  vary(request.roots, [](auto& one, int value) { one.root = value; });
  vary(request.splits, [](auto& one, int value) { one.split = value; });
  vary(request.streams, [](auto& one, int value) { one.streams = value; });
  vary(request.offsets, [](auto& one, std::uint64_t value) { one.offset = value; });
  vary(request.launches, [](auto& one, Launch value) { one.launch = value; });
  vary(request.priorities, [](auto& one, int value) { one.priority = value; });
  vary(request.placements, [](auto& one, Placement value) { one.placement = value; });
  vary(amounts, [](auto& one, const auto& value) { std::tie(one.bytes, one.count) = value; });
  for (CollectiveRequest& one : all) { // irrelevant parts always have the same value
    if (!reduces(one.collective))
      one.op = ReduceOp::sum;
    if (!has_root(one.collective))
      one.root = 0;
  }
  return all;
}

Result<std::vector<Cell>> make_step_cells(const PlanRequest& request, Plan& plan) {
  NCCLPROBE_TRY_ASSIGN(StepCells made,
                       make_step_cells(request.steps, request.ranks, request.timing));
  plan.notes.insert(plan.notes.end(), made.left_out.begin(), made.left_out.end());
  if (made.cells.empty())
    return fail(Errc::invalid_argument, "there is nothing to measure: {}",
                fmt::join(made.left_out, "; "));
  for (Cell& cell : made.cells)
    cell.deadline_ns = request.cell_deadline_ns;
  return std::move(made.cells);
}

Result<std::vector<Cell>> make_collective_cells(const PlanRequest& request, Plan& plan) {
  std::vector<Cell> cells;
  std::set<std::string> left_out;
  for (const CollectiveRequest& one : collective_requests(request)) {
    auto cell = make_collective_cell(one, request.timing);
    if (!cell && cell.error().code == Errc::unsupported) {
      left_out.insert(cell.error().message);
      continue;
    }
    if (!cell)
      return fail(cell.error());
    if (one.bytes > 0 && cell->label.bytes == 0) {
      left_out.insert(fmt::format("{} of {}: less than one {} per rank", to_string(one.collective),
                                  base::format_bytes(one.bytes), to_string(one.type)));
      continue;
    }
    auto same = [&](const Cell& other) { return other.label == cell->label; };
    if (std::ranges::any_of(cells, same))
      continue; // two sizes that round to one, or differ only in irrelevant parts
    cell->deadline_ns = request.cell_deadline_ns;
    NCCLPROBE_TRY(check_schedule(cell->schedule, request.ranks));
    cells.push_back(std::move(*cell));
  }
  plan.notes.insert(plan.notes.end(), left_out.begin(), left_out.end());
  return cells;
}

// Before the others: they take almost no time.
Result<void> add_launch_cells(const PlanRequest& request, std::vector<Cell>& cells) {
  Timing timing = request.timing;
  if (timing.mode == TimingMode::steps) { // there are few of them
    timing = Timing{};
    timing.mode = TimingMode::batch;
  }
  NCCLPROBE_TRY_ASSIGN(std::vector<Cell> all,
                       make_launch_cells(request.ranks, timing,
                                         request.backend == "nvidia" ? Graphs::yes : Graphs::no));
  for (Cell& cell : all) {
    cell.deadline_ns = request.cell_deadline_ns;
    NCCLPROBE_TRY(check_schedule(cell.schedule, request.ranks));
  }
  for (Cell& cell : cells) {
    auto same = [&](const Cell& other) {
      return other.label == cell.label && other.timing.mode == cell.timing.mode;
    };
    if (std::ranges::none_of(all, same))
      all.push_back(std::move(cell));
  }
  cells = std::move(all);
  return {};
}

Result<std::vector<Cell>> make_cells(const PlanRequest& request, Plan& plan) {
  if (!request.cells.empty())
    return request.cells;
  NCCLPROBE_TRY_ASSIGN(std::vector<Cell> cells, request.steps.steps.empty()
                                                    ? make_collective_cells(request, plan)
                                                    : make_step_cells(request, plan));
  if (request.launch_costs)
    NCCLPROBE_TRY(add_launch_cells(request, cells));
  if (cells.empty())
    return fail(Errc::invalid_argument, "there is nothing to measure");
  return cells;
}

// Every combination of the grid with each of the values.
template <typename Put>
void multiply(std::vector<Combination>& grid, const std::vector<std::string>& values, Put put) {
  std::vector<Combination> longer;
  for (const Combination& combination : grid)
    for (const std::string& value : values) {
      longer.push_back(combination);
      put(longer.back(), value);
    }
  grid = std::move(longer);
}

// The same in a combination's list.
void multiply(std::vector<Combination>& grid, const Axis& axis,
              std::vector<Setting> Combination::*list) {
  multiply(grid, axis.values, [&](Combination& one, const std::string& value) {
    (one.*list).push_back({axis.name, value});
  });
}

// Every backend starts workers; only GPU backends load other libraries.
Result<void> check_compared(const PlanRequest& request) {
  NCCLPROBE_TRY(check_axes(request.compared_libraries));
  for (const Axis& axis : request.compared_libraries)
    if (axis.name != k_worker_program && request.backend != "nvidia")
      return fail(Error{Errc::invalid_argument,
                        fmt::format("the {} backend loads no {} whose files could be compared",
                                    request.backend, axis.name),
                        "compare on GPUs (--backend nvidia); Gloo's builds can be compared by "
                        "--set LD_LIBRARY_PATH=/a/lib,/b/lib"});
  return {};
}

// `libraries`, with the combination's in place of others of the same name.
std::vector<Setting> loaded_with(std::vector<Setting> libraries, const Combination& combination) {
  for (const Setting& one : combination.libraries) {
    auto same = std::ranges::find(libraries, one.name, &Setting::name);
    if (same == libraries.end())
      libraries.push_back(one);
    else
      same->value = one.value;
  }
  return libraries;
}

// The product of the axes and of compared libraries, plus the given combinations, without the
// default, duplicates and pinned settings.
Result<std::vector<Combination>> make_settings(const PlanRequest& request, Plan& plan) {
  NCCLPROBE_TRY(check_axes(request.axes));
  NCCLPROBE_TRY(check_compared(request));
  std::vector<Combination> grid{{}};
  for (const Axis& axis : request.compared_libraries)
    multiply(grid, axis, &Combination::libraries);
  if (!request.cpu_affinities.empty())
    multiply(grid, request.cpu_affinities,
             [](Combination& one, const std::string& value) { one.cpu_affinity = value; });
  for (const Axis& axis : request.axes)
    if (is_pinned(request, axis.name))
      note_pinned(request, plan, axis.name);
    else
      multiply(grid, axis, &Combination::environment);
  for (const auto& combination : request.settings) {
    auto pinned = std::ranges::find_if(
        combination, [&](const Setting& one) { return is_pinned(request, one.name); });
    if (pinned == combination.end())
      grid.push_back({combination, {}, ""});
    else
      note_pinned(request, plan, pinned->name);
  }
  std::vector<Combination> distinct;
  for (const Combination& combination : grid) {
    bool default_files =
        combination.environment.empty() && combination.cpu_affinity.empty() &&
        loaded_with(request.libraries, combination) == request.libraries; // what all trials load
    if (!default_files && std::ranges::find(distinct, combination) == distinct.end())
      distinct.push_back(combination);
  }
  return distinct;
}

// In-process settings that the environment does not pin.
Result<std::vector<std::vector<Setting>>> make_in_process(const PlanRequest& request, Plan& plan) {
  std::vector<Axis> axes;
  for (const Axis& axis : request.in_process) {
    auto variables = as_variables(request.backend, {{axis.name, ""}});
    if (variables.empty() || !is_pinned(request, variables.front().name))
      axes.push_back(axis);
    else
      note_pinned(request, plan, variables.front().name);
  }
  return in_process_grid(request.backend, axes);
}

Result<std::map<int, std::vector<Setting>>> make_per_rank(const PlanRequest& request, Plan& plan) {
  std::map<int, std::vector<Setting>> kept;
  for (const auto& [rank, settings] : request.per_rank) {
    if (rank < 0 || rank >= request.ranks)
      return fail(Errc::invalid_argument,
                  "a setting is given for rank {}, but there are ranks 0 to {}", rank,
                  request.ranks - 1);
    for (const Setting& one : settings) {
      if (is_pinned(request, one.name))
        note_pinned(request, plan, one.name);
      else
        kept[rank].push_back(one);
    }
  }
  return kept;
}

} // namespace

MachineShape nccl_machine(const PlanRequest& request) {
  MachineShape machine = request.machine;
  std::map<int, std::string> ids; // by rank
  for (const auto& [rank, settings] : request.per_rank)
    for (const Setting& one : settings)
      if (one.name == "NCCL_HOSTID" && !is_pinned(request, one.name))
        ids[rank] = one.value;
  const bool of_launch = request.environment.contains("NCCL_HOSTID");
  if (ids.empty() && !of_launch)
    return machine;
  if (of_launch || machine.nodes != 1) { // its value may differ between ranks
    machine.nodes = 0;
    machine.ranks_per_node = 0;
    return machine;
  }
  std::map<std::string, int> ranks_of_node;
  for (int rank = 0; rank < request.ranks; ++rank)
    ++ranks_of_node[ids[rank]];
  machine.nodes = static_cast<int>(ranks_of_node.size());
  machine.ranks_per_node = std::ranges::max_element(ranks_of_node, {}, [](const auto& node) {
                             return node.second;
                           })->second;
  return machine;
}

Result<Plan> make_plan(const PlanRequest& request) {
  Plan plan;
  NCCLPROBE_TRY_ASSIGN(const std::vector<Cell> cells, make_cells(request, plan));
  NCCLPROBE_TRY_ASSIGN(auto settings, make_settings(request, plan));
  NCCLPROBE_TRY_ASSIGN(const auto in_process, make_in_process(request, plan));
  NCCLPROBE_TRY_ASSIGN(const auto per_rank, make_per_rank(request, plan));
  Pruner pruner({request.backend, request.ranks, nccl_machine(request), request.nccl_places,
                 request.environment, request.overrides});
  for (const Combination& one : settings)
    NCCLPROBE_TRY(pruner.check(one.environment));
  for (const auto& [rank, own] : per_rank) {
    NCCLPROBE_TRY(pruner.check(own));
    pruner.warn_of(own);
  }
  std::erase_if(settings, [&](const Combination& one) { return !pruner.keeps(one.environment); });
  std::map<std::string, std::vector<Cell>> cells_by_label{
      {label_of({}), pruner.possible({}, cells)}};
  std::erase_if(settings, [&](const Combination& one) {
    auto& possible = cells_by_label[one.label()];
    possible = pruner.possible(one.environment, cells);
    return possible.empty();
  });
  // A variable of the setting decides, and cells cannot change that.
  auto is_possible = [&](const Combination& combination, const Cell& cell,
                         const std::vector<Setting>& in_cell) {
    std::vector<Setting> all = combination.environment;
    for (const Setting& one : as_variables(request.backend, in_cell)) {
      if (std::ranges::find(combination.environment, one.name, &Setting::name) !=
          combination.environment.end())
        return false;
      all.push_back(one);
    }
    return !pruner.possible(all, {cell}).empty();
  };
  if (cells_by_label[label_of({})].empty())
    return fail(Errc::invalid_argument, "there is nothing to measure: {}",
                pruner.left_out().back());

  std::map<std::string, CellBlocks> blocks_by_label;
  for (const auto& [label, possible] : cells_by_label) {
    auto combination = std::ranges::find(settings, label, &Combination::label);
    const bool is_default = combination == settings.end();
    blocks_by_label[label] = in_process_blocks(
        possible, in_process,
        [&](const Cell& cell, const std::vector<Setting>& in_cell) {
          return is_possible(is_default ? Combination{} : *combination, cell, in_cell);
        },
        is_default ? Defaults::twice : Defaults::once);
  }

  auto add_trial = [&](const Combination& combination, int replicate) {
    TrialSpec trial;
    trial.id = static_cast<int>(plan.trials.size());
    trial.name = combination.label();
    trial.replicate = replicate;
    trial.backend = request.backend;
    trial.ranks = request.ranks;
    trial.seed = request.seed;
    trial.process = {combination.environment, per_rank};
    trial.libraries = loaded_with(request.libraries, combination);
    trial.tested_libraries = combination.libraries;
    trial.cpu_affinity = combination.cpu_affinity;
    trial.cells = cells_by_label.at(trial.name);
    trial.startup_deadline_ns = request.startup_deadline_ns;
    plan.trials.push_back(std::move(trial));
  };

  struct Entry {
    Combination settings;
    int arm; // of the default; 0 for settings
    bool traced = false;
  };
  std::vector<Entry> block{{{}, 0}};
  if (!settings.empty())
    block.push_back({{}, 1});
  for (const auto& combination : settings)
    block.push_back({combination, 0});
  if (request.trace != TraceLevel::off) {
    block.push_back({{}, 0, true});
    for (const auto& combination : settings)
      block.push_back({combination, 0, true});
    auto lost = lost_to_traces(request.environment, request.backend);
    plan.warnings.insert(plan.warnings.end(), lost.begin(), lost.end());
  }
  std::mt19937_64 random(request.seed);
  for (int replicate = 0; replicate < request.repeats; ++replicate) {
    for (std::size_t i = block.size(); i > 1; --i)
      std::swap(block[i - 1], block[random() % i]);
    bool two_arms = !settings.empty();
    for (const Entry& entry : block) {
      bool is_arm = entry.settings.is_default() && two_arms && !entry.traced;
      add_trial(entry.settings, is_arm ? 2 * replicate + entry.arm : replicate);
      TrialSpec& trial = plan.trials.back();
      trial.cells = in_random_order(blocks_by_label.at(trial.name), request.seed, trial.id);
      if (entry.traced)
        make_traced(trial, request.trace, request.environment);
    }
  }
  if (wants_companions(request.proof, request.backend)) {
    settings.insert(settings.begin(), Combination{});
    for (const auto& combination : settings) {
      add_trial(combination, 0);
      make_companion(plan.trials.back(), request.environment);
    }
    for (const std::vector<Setting>& in_cells : in_process) {
      add_trial({}, 0);
      std::vector<Cell>& own = plan.trials.back().cells;
      std::erase_if(own, [&](const Cell& cell) {
        return !takes_settings(cell) || !is_possible({}, cell, in_cells);
      });
      for (Cell& cell : own)
        cell.settings = in_cells;
      make_companion(plan.trials.back(), request.environment);
      if (own.empty())
        plan.trials.pop_back();
    }
    auto lost = lost_to(request.environment);
    plan.warnings.insert(plan.warnings.end(), lost.begin(), lost.end());
  }
  plan.notes.insert(plan.notes.end(), pruner.left_out().begin(), pruner.left_out().end());
  plan.warnings.insert(plan.warnings.begin(), pruner.warnings().begin(), pruner.warnings().end());
  for (TrialSpec& trial : plan.trials)
    ask_for_tuner(trial, request.environment);
  return plan;
}

std::string Combination::label() const {
  TrialSpec trial;
  trial.tested_libraries = libraries;
  trial.cpu_affinity = cpu_affinity;
  trial.process.common = environment;
  return trial.label();
}

Result<Axis> parse_axis(std::string_view text) {
  auto equals = text.find('=');
  if (equals == std::string_view::npos || !is_variable_name(text.substr(0, equals)))
    return fail(Error{Errc::invalid_argument, fmt::format("'{}' is not NAME=value,value", text),
                      "for example NCCL_PROTO=LL,Simple; write [a,b] for one value with a comma"});
  Axis axis{std::string(text.substr(0, equals)), {}};
  std::string value;
  int depth = 0;
  for (char c : text.substr(equals + 1)) {
    if (c == ',' && depth == 0) {
      axis.values.push_back(std::exchange(value, ""));
    } else if (c == '[' && depth == 0 && value.empty()) {
      depth = 1;
    } else if (c == ']' && depth == 1) {
      depth = 0;
    } else {
      value += c;
    }
  }
  if (depth != 0)
    return fail(Errc::invalid_argument, "'{}': a [ is never closed", text);
  axis.values.push_back(value);
  return axis;
}

bool is_variable_name(std::string_view name) {
  auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, allowed);
}

std::uint64_t peak_bytes(const std::vector<Cell>& cells) {
  std::uint64_t peak = 0;
  for (const Cell& cell : cells) {
    std::uint64_t sum = 0;
    for (const BufferDecl& buffer : cell.schedule.buffers)
      if (buffer.memory != model::Memory::pinned_host &&
          buffer.memory != model::Memory::pageable_host)
        sum += buffer.bytes.common;
    peak = std::max(peak, sum);
  }
  return peak;
}

} // namespace ncclprobe::workload
