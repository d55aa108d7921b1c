// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/tuning_space.h"

#include "base/split.h"
#include "base/stored_variables.h"
#include "model/in_process.h"
#include "workload/environment_effect.h"
#include "workload/in_process_cells.h"
#include "workload/pruning.h"
#include "workload/tuning_rows.h"

#include <algorithm>
#include <set>
#include <span>

namespace ncclprobe::workload {
namespace {

using table::Moves;
using table::TuningRow;
using Texts = std::vector<std::string>;

// Larger numbers of adapters are not told apart by trying each.
constexpr std::size_t k_most_devices = 8;

std::span<const TuningRow> rows_of(Transport transport) {
  switch (transport) {
  case Transport::nvlink:
    return table::k_nvlink_rows;
  case Transport::pcie:
    return table::k_pcie_rows;
  case Transport::shared_memory:
    return table::k_shared_memory_rows;
  case Transport::sockets:
    return table::k_socket_rows;
  case Transport::infiniband:
    return table::k_infiniband_rows;
  case Transport::gloo:
    return table::k_gloo_rows;
  case Transport::synthetic:
    return table::k_synthetic_rows;
  case Transport::none:
    break;
  }
  return {};
}

bool has_algorithm(const TuningTarget& target) {
  return target.step || (target.collective && nccl_function(*target.collective));
}

// Chosen for each call, within a process.
bool is_of_call(const std::string& backend, std::string_view name) {
  const auto known = model::in_process_settings(backend);
  return std::ranges::find(known, name, &model::InProcessSetting::name) != known.end();
}

bool matters(const TuningRow& row, const TuningGround& ground) {
  return std::ranges::any_of(ground.targets, [&](const TuningTarget& target) {
    switch (row.moves) {
    case Moves::anything:
      return true;
    case Moves::collectives:
      return has_algorithm(target);
    case Moves::send_receive:
      return !has_algorithm(target);
    case Moves::steps:
      return target.step && *target.step != model::StepPattern::replay; // a replay has no options
    }
    return false;
  });
}

// Those that all hosts have, as the value of NCCL_SOCKET_IFNAME or NCCL_IB_HCA names exactly one.
Texts devices(const TuningGround& ground, bool rdma) {
  Texts common;
  for (std::size_t h = 0; h < ground.hosts.size(); ++h) {
    std::set<std::string> names;
    for (const topology::Nic& nic : ground.hosts[h].topology.nics) {
      const bool is_rdma = nic.kind.value == topology::NicKind::infiniband ||
                           nic.kind.value == topology::NicKind::roce;
      const bool wanted = rdma ? is_rdma : nic.kind.value == topology::NicKind::ethernet;
      if (wanted && nic.up.value_or(true) && !nic.name.empty())
        names.insert("=" + nic.name);
    }
    if (h == 0)
      common.assign(names.begin(), names.end());
    std::erase_if(common, [&](const std::string& name) { return !names.contains(name); });
  }
  return common;
}

// NVLink switches and GPUs that multicast through them.
bool has_multicast(const TuningGround& ground) {
  bool only_gpus = !ground.hosts.empty();
  for (const model::HostInventory& host : ground.hosts)
    for (const topology::Gpu& gpu : host.topology.gpus)
      for (const topology::NvLink& link : gpu.nvlinks.value_or({}))
        only_gpus = only_gpus && link.remote.value == topology::RemoteKind::gpu;
  const bool knows_links = std::ranges::any_of(ground.hosts, [](const model::HostInventory& host) {
    return std::ranges::any_of(host.topology.gpus, [](const topology::Gpu& gpu) {
      return !gpu.nvlinks.value_or({}).empty();
    });
  });
  return ground.machine.nvls.value_or(false) && !(knows_links && only_gpus);
}

// The environment, less what may be tuned nevertheless.
Variables pinned_variables(const TuningGround& ground) {
  Variables pinned = ground.environment;
  for (const std::string& name : ground.overrides)
    pinned.erase(name);
  return pinned;
}

class SpaceBuilder {
public:
  explicit SpaceBuilder(const TuningGround& ground)
      : ground_(ground), pinned_(pinned_variables(ground)) {
    space_.transports =
        transports_in_use(ground.backend, ground.hosts, ground.machine, ground.environment);
  }

  TuningSpace build() {
    space_.environment = environment_variables(ground_);
    if (!ground_.only_environment)
      add_rows();
    add_removals();
    return std::move(space_);
  }

private:
  void add_rows() {
    for (const TuningRow& row : table::k_step_rows)
      add(row);
    for (Transport transport : {space_.transports.between_nodes, space_.transports.inside_node})
      for (const TuningRow& row : rows_of(transport))
        add(row);
    if (ground_.with_compression)
      add(table::k_compression_row);
    if (space_.transports.between_nodes == Transport::infiniband)
      space_.notes.emplace_back("InfiniBand and RoCE: this order is from NCCL's documentation and "
                                "published work; ncclprobe's authors have never measured it");
  }

  // What the environment sets, and may be tried without.
  std::set<std::string> removable() const {
    std::set<std::string> names;
    for (const std::string& name : ground_.overrides)
      if (ground_.environment.contains(name))
        names.insert(name);
    if (ground_.only_environment)
      for (const EnvironmentVariable& one : space_.environment)
        if (one.why_nothing.empty())
          names.insert(one.setting.name);
    return names;
  }

  // Before all others: what is set by hand may cost more than any setting gains.
  void add_removals() {
    std::vector<TuningParameter> removals;
    for (const std::string& name : removable()) {
      const auto file = ground_.files.find(name);
      std::string removed(base::k_value_unset);
      if (file != ground_.files.end()) { // the environment wins over the file
        const auto by_default = known_default(name);
        if (!by_default) {
          space_.left_out.push_back(
              {name, "",
               fmt::format(
                   "{} sets it, and no value equals its absence. Remove it there to compare",
                   file->second)});
          continue;
        }
        removed = *by_default;
      }
      auto known = std::ranges::find(space_.parameters, name, &TuningParameter::name);
      if (known != space_.parameters.end()) {
        std::erase(known->values, ground_.environment.at(name));
        std::erase(known->values, removed);
        known->values.push_back(removed); // last
      } else {
        removals.push_back(
            {name,
             TuningScope::process,
             {"", removed},
             (file == ground_.files.end() ? "the environment" : file->second) + " sets it"});
      }
    }
    space_.parameters.insert(space_.parameters.begin(), removals.begin(), removals.end());
  }

  void add(const TuningRow& row) {
    if (!matters(row, ground_) || (only_for_ddp(row) && !trains_with_ddp()))
      return;
    const TuningScope scope = scope_of(row);
    const std::string variable = variable_of(row);
    TuningParameter parameter{scope == TuningScope::process ? variable : std::string(row.name),
                              scope,
                              {""},
                              std::string(row.why)};
    if (!seen_.insert(parameter.name).second || is_pinned(variable))
      return;
    for (const std::string& value : values_of(row))
      if (std::string why = against(parameter, value); !why.empty())
        space_.left_out.push_back({parameter.name, value, why});
      else
        parameter.values.push_back(value);
    if (parameter.values.size() > 1)
      space_.parameters.push_back(std::move(parameter));
  }

  static bool only_for_ddp(const TuningRow& row) {
    return row.name == table::k_bucket || row.name == table::k_compression_row.name;
  }

  static bool is_step_option(const TuningRow& row) {
    return row.name == table::k_compression_row.name ||
           std::ranges::find(table::k_step_rows, row.name, &TuningRow::name) !=
               table::k_step_rows.end();
  }

  TuningScope scope_of(const TuningRow& row) const {
    if (is_step_option(row))
      return TuningScope::step;
    return is_of_call(ground_.backend, row.name) && chooses_by_call() ? TuningScope::cell
                                                                      : TuningScope::process;
  }

  // A tuner table chooses by collective and size. A training step is neither, so its job gets one
  // choice for all calls, as variables.
  bool chooses_by_call() const {
    return ground_.in_process &&
           (ground_.backend != "nvidia" ||
            !std::ranges::all_of(ground_.targets, [](const TuningTarget& target) {
              return target.step.has_value();
            }));
  }

  // That has the row's effect on a whole process, and pins it.
  std::string variable_of(const TuningRow& row) const {
    if (row.name == table::k_channels)
      return "NCCL_MIN_CTAS";
    auto variables = as_variables(ground_.backend, {{std::string(row.name), ""}});
    return variables.empty() ? std::string(row.name) : variables.front().name;
  }

  bool trains_with_ddp() const {
    return std::ranges::any_of(ground_.targets, [](const TuningTarget& target) {
      return target.step && model::has_part(*target.step, model::StepPattern::ddp);
    });
  }

  bool is_pinned(const std::string& name) {
    auto found = pinned_.find(name);
    if (found == pinned_.end())
      return false;
    const model::Setting pinned{name, base::stored_value(name, found->second)};
    if (std::ranges::find(space_.pinned, pinned) == space_.pinned.end())
      space_.pinned.push_back(pinned);
    return true;
  }

  Texts values_of(const TuningRow& row) {
    if (!row.values.empty()) {
      Texts values;
      for (std::string_view value : base::split(row.values, '|'))
        values.emplace_back(value);
      return values;
    }
    Texts found = devices(ground_, row.name == "NCCL_IB_HCA");
    if (found.size() >= 2 && found.size() <= k_most_devices)
      return found;
    space_.left_out.push_back(
        {std::string(row.name), "",
         found.size() < 2
             ? fmt::format("{} is known on all hosts", found.empty() ? "none" : "only one")
             : fmt::format("{} are too many to try each", found.size())});
    return {};
  }

  // Why a value is not in the space; empty if it is.
  std::string against(const TuningParameter& parameter, const std::string& value) const {
    if (parameter.scope == TuningScope::step || ground_.backend != "nvidia")
      return "";
    if (const bool multicasts =
            parameter.name.find("NVLS") != std::string::npos || value.starts_with("NVLS");
        multicasts) {
      if (!has_multicast(ground_))
        return "this machine has no NVLink switches with multicast";
      if (std::string why = switched_off(); !why.empty())
        return why;
    }
    const model::Setting setting{parameter.name, value};
    if (parameter.name == "NCCL_ALGO" && value != "Ring")
      return "it holds for all functions of a job, and some, such as Broadcast, know only Ring";
    if (parameter.scope == TuningScope::process)
      if (std::string why = misread(setting); !why.empty())
        return why;
    return impossible_for_all(setting);
  }

  // NVLink SHARP needs both.
  std::string switched_off() const {
    for (const char* name : {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE"})
      if (auto found = pinned_.find(name);
          found != pinned_.end() && read_integer(found->second).value == 0)
        return fmt::format("{}={} is set in the environment", name, found->second);
    return "";
  }

  // NCCL would read another value, or none.
  std::string misread(const model::Setting& setting) const {
    Variables all = pinned_;
    all[setting.name] = setting.value;
    std::vector<NcclPlace> places = ground_.places;
    if (places.empty())
      places.emplace_back();
    for (const NcclPlace& place : places)
      if (Judgement judgement = judge(setting, all, place); judgement.reading > Reading::uncertain)
        return describe(setting, judgement, place);
    return "";
  }

  std::string impossible_for_all(const model::Setting& setting) const {
    std::vector<model::Setting> settings{setting};
    for (const std::string& name : ground_.overrides)
      settings.push_back({name, std::string(base::k_value_unset)});
    std::string why;
    for (const TuningTarget& target : ground_.targets) {
      why = why_impossible(ground_, target, settings);
      if (why.empty())
        return "";
    }
    return why;
  }

  const TuningGround& ground_;
  Variables pinned_;
  std::set<std::string> seen_; // names
  TuningSpace space_;
};

} // namespace

TuningSpace tuning_space(const TuningGround& ground) {
  return SpaceBuilder(ground).build();
}

std::string why_impossible(const TuningGround& ground, const TuningTarget& target,
                           const std::vector<model::Setting>& settings) {
  if (ground.backend != "nvidia")
    return "";
  if (target.step && std::ranges::any_of(settings, [&](const model::Setting& one) {
        return is_of_call(ground.backend, one.name);
      }))
    return "a training step has calls of many sizes, and a tuner table chooses by size";
  Variables variables = pinned_variables(ground);
  for (const model::Setting& one : settings)
    if (find_variable(one.name) != nullptr && one.value != base::k_value_unset)
      variables[one.name] = one.value;
  for (const model::Setting& one : as_variables(ground.backend, settings)) {
    const auto given = ground.environment.find(one.name);
    if (ground.in_process && given != ground.environment.end() &&
        std::ranges::find(settings, model::Setting{one.name, std::string(base::k_value_unset)}) ==
            settings.end())
      return fmt::format("{}={} is set in the environment", one.name, given->second);
    variables[one.name] = one.value;
  }
  if (std::string why = contradiction(variables); !why.empty())
    return why;
  auto function = target.collective ? nccl_function(*target.collective) : std::nullopt;
  if (target.step)
    function = "AllReduce";
  return function ? why_impossible(*function, variables, ground.machine) : "";
}

} // namespace ncclprobe::workload
