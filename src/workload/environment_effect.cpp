// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/environment_effect.h"

#include "base/stored_variables.h"
#include "workload/nccl_names.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace ncclprobe::workload {
namespace {

using namespace std::string_view_literals;

// Defaults that depend neither on the machine nor on the release, from NCCL's sources (2.19 to
// 2.30).
constexpr std::array k_defaults{std::pair{"NCCL_BUFFSIZE"sv, 4194304},
                                std::pair{"NCCL_CHECK_POINTERS"sv, 0},
                                std::pair{"NCCL_COLLNET_ENABLE"sv, 0},
                                std::pair{"NCCL_CROSS_NIC"sv, 2},
                                std::pair{"NCCL_DMABUF_ENABLE"sv, 1},
                                std::pair{"NCCL_GDRCOPY_ENABLE"sv, 0},
                                std::pair{"NCCL_GRAPH_HELPER_DISABLE"sv, 0},
                                std::pair{"NCCL_IB_AR_THRESHOLD"sv, 8192},
                                std::pair{"NCCL_IB_DISABLE"sv, 0},
                                std::pair{"NCCL_IB_PCI_RELAXED_ORDERING"sv, 2},
                                std::pair{"NCCL_IB_QPS_PER_CONNECTION"sv, 1},
                                std::pair{"NCCL_IB_RETRY_CNT"sv, 7},
                                std::pair{"NCCL_IB_USE_INLINE"sv, 0},
                                std::pair{"NCCL_IGNORE_CPU_AFFINITY"sv, 0},
                                std::pair{"NCCL_IGNORE_DISABLED_P2P"sv, 0},
                                std::pair{"NCCL_MEM_SYNC_DOMAIN"sv, 1},
                                std::pair{"NCCL_NET_DISABLE_INTRA"sv, 0},
                                std::pair{"NCCL_NVB_DISABLE"sv, 0},
                                std::pair{"NCCL_NVLS_ENABLE"sv, 2},
                                std::pair{"NCCL_NVTX_DISABLE"sv, 0},
                                std::pair{"NCCL_P2P_DIRECT_DISABLE"sv, 0},
                                std::pair{"NCCL_P2P_DISABLE"sv, 0},
                                std::pair{"NCCL_P2P_USE_CUDA_MEMCPY"sv, 0},
                                std::pair{"NCCL_PAT_ENABLE"sv, 2},
                                std::pair{"NCCL_PXN_DISABLE"sv, 0},
                                std::pair{"NCCL_RUNTIME_CONNECT"sv, 1},
                                std::pair{"NCCL_SHM_DISABLE"sv, 0},
                                std::pair{"NCCL_SHM_LOCALITY"sv, 2}};

bool is_default(const model::Setting& setting) {
  const auto* known = std::ranges::find(k_defaults, std::string_view(setting.name),
                                        &std::pair<std::string_view, int>::first);
  const IntegerReading reading = read_integer(setting.value);
  return known != k_defaults.end() && reading.whole && reading.value == known->second;
}

// That the backend's library is asked about. A name of builds or of another program is none.
bool is_of_interest(const std::string& name) {
  return (name.starts_with("NCCL_") || name.starts_with(k_own_prefix)) &&
         judge_name(name).kind != NameKind::harmless;
}

// "NCCLPROBE_GLOO_": the prefix of the variables that a backend reads.
std::string_view prefix_of(std::string_view backend) {
  return backend == "nvidia" ? "NCCL_"
         : backend == "host" ? "NCCLPROBE_GLOO_"
                             : "NCCLPROBE_SYNTHETIC_";
}

class Effects {
public:
  explicit Effects(const TuningGround& ground) : ground_(ground) {}

  std::string why_nothing(const model::Setting& setting) const {
    const NameJudgement name = judge_name(setting.name);
    if (name.kind == NameKind::foreign) // a plugin may read it
      return "";
    if (!setting.name.starts_with(prefix_of(ground_.backend)))
      return fmt::format("the {} backend does not read it", ground_.backend);
    if (std::string why = unread(setting); !why.empty())
      return why;
    if (ground_.backend != "nvidia")
      return "";
    if (const Variable* variable = find_variable(setting.name))
      if (std::string why = unused(*variable); !why.empty())
        return why;
    return is_default(setting) ? setting.value + " is the default" : "";
  }

private:
  // On every host.
  std::string unread(const model::Setting& setting) const {
    std::vector<NcclPlace> places = ground_.places;
    if (places.empty())
      places.emplace_back();
    std::string why;
    for (const NcclPlace& place : places) {
      const Judgement judgement = judge(setting, ground_.environment, place);
      if (judgement.reading != Reading::unset && judgement.reading != Reading::unread &&
          judgement.reading != Reading::misspelt)
        return "";
      why = judgement.why;
    }
    return why;
  }

  // A variable may be what keeps the data off its own way: NCCL_IB_DISABLE.
  std::string unused(const Variable& variable) const {
    Variables without = ground_.environment;
    without.erase(std::string(variable.name));
    const std::string why = unused(variable.scope, ground_.environment);
    return unused(variable.scope, without).empty() ? "" : why;
  }

  // No data of the targets takes that way.
  std::string unused(Scope scope, const Variables& environment) const {
    const TransportsInUse used =
        transports_in_use(ground_.backend, ground_.hosts, ground_.machine, environment);
    auto takes = [&](Transport one) {
      return used.inside_node == one || used.between_nodes == one;
    };
    const char* elsewhere = takes(Transport::infiniband) ? "data takes InfiniBand or RoCE"
                            : takes(Transport::sockets)  ? "data takes sockets"
                                                         : "no data takes the network";
    switch (scope) {
    case Scope::network:
      return takes(Transport::sockets) || takes(Transport::infiniband) ? "" : elsewhere;
    case Scope::socket:
      return takes(Transport::sockets) ? "" : elsewhere;
    case Scope::infiniband:
      return takes(Transport::infiniband) ? "" : elsewhere;
    case Scope::nvlink_between_nodes:
      return ground_.machine.nodes == 1 ? "all ranks are on one node" : "";
    case Scope::send_receive:
      return std::ranges::all_of(ground_.targets,
                                 [](const TuningTarget& one) {
                                   return one.collective && nccl_function(*one.collective);
                                 })
                 ? "the targets have no sends and receives"
                 : "";
    default:
      return "";
    }
  }

  const TuningGround& ground_;
};

} // namespace

std::optional<std::string> known_default(const std::string& name) {
  const auto* known = std::ranges::find(k_defaults, std::string_view(name),
                                        &std::pair<std::string_view, int>::first);
  return known == k_defaults.end() ? std::nullopt : std::optional(std::to_string(known->second));
}

std::vector<EnvironmentVariable> environment_variables(const TuningGround& ground) {
  const Effects effects(ground);
  std::vector<EnvironmentVariable> all;
  for (const auto& [name, value] : ground.environment)
    if (is_of_interest(name)) {
      const auto file = ground.files.find(name);
      all.push_back({{name, base::stored_value(name, value)},
                     effects.why_nothing({name, value}),
                     file == ground.files.end() ? "" : file->second});
    }
  return all;
}

} // namespace ncclprobe::workload
