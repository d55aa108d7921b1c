// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D14: the variables NCCL would see, from the environment and from its files.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"
#include "workload/nccl_selection.h"
#include "workload/nccl_variables.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::doctor {
namespace {

using workload::find_retired_variable;
using workload::find_variable;

// A variable as it reaches NCCL, and from where.
struct Seen {
  std::string value;
  std::string origin; // "the environment", "/etc/nccl.conf"
};
using Variables = std::map<std::string, Seen>;

// The environment wins, then the first file that names it.
Variables variables_of(const Case& one, const model::Survey& survey) {
  Variables all;
  for (const model::Setting& setting : survey.process.environment)
    if (setting.name.starts_with("NCCL_"))
      all.emplace(setting.name, Seen{setting.value, "the environment"});
  if (const model::HostSurvey* host = one.host_of(survey))
    for (const model::NcclFile& file : host->nccl_files)
      for (const model::Setting& setting : file.settings)
        all.emplace(setting.name, Seen{setting.value, file.path});
  return all;
}

std::string remedy(const std::string& name, const Seen& seen) {
  return seen.origin == "the environment" ? "unset " + name
                                          : fmt::format("remove {} from {}", name, seen.origin);
}

std::string evidence(const std::string& name, const Seen& seen) {
  return fmt::format("{}={} in {}", name, seen.value, seen.origin);
}

// Switches that people set to look for a fault, and forget.
struct Leftover {
  std::string_view name;
  std::string_view value; // "": any
  const char* cost;
  Severity severity;
};
constexpr Leftover k_leftovers[] = {
    {"NCCL_P2P_DISABLE", "1",
     "GPUs exchange data through host memory, or the network, instead of NVLink or PCIe",
     Severity::warn},
    {"NCCL_SHM_DISABLE", "1", "ranks of a host that have no P2P talk over the network",
     Severity::warn},
    {"NCCL_IB_DISABLE", "1", "RDMA adapters are not used: TCP between hosts", Severity::warn},
    {"NCCL_NVLS_ENABLE", "0", "no reduction in the switch: all-reduce must do without it",
     Severity::info},
    {"NCCL_CUMEM_ENABLE", "0", "no NVLS, no registered buffers over cuMem", Severity::info},
    {"NCCL_DEBUG", "TRACE", "every call is logged: latency", Severity::warn},
    {"NCCL_DEBUG", "INFO", "the start is logged; costs little, fills logs", Severity::info},
    {"NCCL_CHECK_POINTERS", "1", "every call asks the driver about its pointers: latency",
     Severity::warn},
    {"NCCL_LAUNCH_MODE", "GROUP", "cooperative launches: slower, and deprecated", Severity::warn},
    {"NCCL_NET_GDR_LEVEL", "LOC", "no GPUDirect RDMA", Severity::warn},
    {"NCCL_P2P_LEVEL", "LOC", "no P2P between GPUs", Severity::warn},
    {"NCCL_RUNTIME_CONNECT", "0", "everything is connected at the start: slower, more memory",
     Severity::info},
    {"NCCL_ALGO", "", "NCCL cannot choose by size any more: best at one size, worse at others",
     Severity::info},
    {"NCCL_PROTO", "",
     "NCCL cannot choose by size any more; LL128 where NCCL does not allow it corrupts "
     "data",
     Severity::info},
    {"NCCL_TOPO_FILE", "", "NCCL believes this file instead of the machine", Severity::info},
    {"NCCL_GRAPH_FILE", "", "NCCL uses these rings instead of searching for the best",
     Severity::warn},
};

void check_leftovers(const model::Survey& survey, const Variables& all, Findings& into,
                     bool& anything) {
  for (const Leftover& leftover : k_leftovers) {
    auto found = all.find(std::string(leftover.name));
    if (found == all.end() || (!leftover.value.empty() && found->second.value != leftover.value))
      continue;
    anything = true;
    into.add(survey, {"D14",
                      leftover.severity,
                      fmt::format("{}={} is set", found->first, found->second.value),
                      {evidence(found->first, found->second)},
                      leftover.cost,
                      remedy(found->first, found->second),
                      {},
                      {}});
  }
}

void check_names(const model::Survey& survey, const Variables& all, Findings& into,
                 bool& anything) {
  for (const auto& [name, seen] : all) {
    if (find_variable(name) != nullptr)
      continue;
    anything = true;
    if (const auto* retired = find_retired_variable(name)) {
      into.add(survey,
               {"D14",
                Severity::warn,
                name + " is not read by NCCL any more",
                {evidence(name, seen)},
                "it does nothing",
                fmt::format("{}; nearest today: {}", remedy(name, seen), retired->replacement),
                {},
                {}});
      continue;
    }
    auto nearest = workload::nearest_variable(name);
    // Plugins read variables of their own: an unknown name alone is no mistake.
    into.add(survey,
             {"D14",
              nearest ? Severity::warn : Severity::info,
              nearest ? fmt::format("{} is probably misspelt: NCCL knows {}", name, *nearest)
                      : name + " is no variable of NCCL 2.31 or before",
              {evidence(name, seen)},
              nearest ? "it does nothing" : "nothing, unless a plugin reads it",
              nearest
                  ? fmt::format("export {}={}, and {}", *nearest, seen.value, remedy(name, seen))
                  : "",
              {},
              {}});
  }
}

void check_values(const model::Survey& survey, const Variables& all, Findings& into,
                  bool& anything) {
  for (const auto& [name, seen] : all) {
    const workload::Variable* variable = find_variable(name);
    if (variable == nullptr || seen.value.empty())
      continue;
    std::string what;
    std::string cost;
    if (workload::reads_integer(*variable)) {
      workload::IntegerReading reading = workload::read_integer(seen.value);
      if (!reading.whole) {
        what = fmt::format("{}={} is no whole number", name, seen.value);
        cost = fmt::format("NCCL takes it for {} and says nothing", reading.value);
      } else if (workload::is_outside(*variable, reading.value)) {
        what = fmt::format("{}={} is outside what NCCL documents", name, seen.value);
        cost = "clamped or ignored";
      }
    } else if ((variable->kind == workload::ValueKind::level ||
                variable->kind == workload::ValueKind::word) &&
               !workload::is_word_of(variable->words, seen.value) &&
               !(variable->kind == workload::ValueKind::level &&
                 workload::read_integer(seen.value).whole)) {
      what = fmt::format("{}={} is none of NCCL's words", name, seen.value);
      cost = "NCCL ignores it and says nothing; words are case-sensitive";
    }
    if (what.empty())
      continue;
    anything = true;
    into.add(survey, {"D14",
                      Severity::warn,
                      what,
                      {evidence(name, seen), variable->words.empty()
                                                 ? std::string("NCCL reads it with strtoll")
                                                 : fmt::format("known words: {}", variable->words)},
                      cost,
                      remedy(name, seen),
                      {},
                      {}});
  }
}

// Two that cannot both be meant.
struct Contradiction {
  std::string_view one;
  std::string_view one_value; // "": any
  std::string_view other;
  std::string_view other_value;
  const char* cost;
};
constexpr Contradiction k_contradictions[] = {
    {"NCCL_P2P_DISABLE", "1", "NCCL_P2P_LEVEL", "", "the level has no effect: P2P is off"},
    {"NCCL_IB_DISABLE", "1", "NCCL_IB_HCA", "", "the list of adapters has no effect: IB is off"},
    {"NCCL_IB_DISABLE", "1", "NCCL_NET", "IB", "NCCL fails: the network asked for is off"},
    {"NCCL_NET", "Socket", "NCCL_IB_HCA", "",
     "the list of adapters has no effect: sockets are used"},
    {"NCCL_CUMEM_ENABLE", "0", "NCCL_NVLS_ENABLE", "1",
     "NVLS needs cuMem: NCCL fails or goes without"},
    {"NCCL_DEBUG_SUBSYS", "", "NCCL_DEBUG", "WARN", "subsystems only choose among INFO lines"},
    {"NCCL_P2P_DISABLE", "1", "NCCL_SHM_DISABLE", "1", "ranks of one host talk over the network"},
};

void check_contradictions(const model::Survey& survey, const Variables& all, Findings& into,
                          bool& anything) {
  auto set_to = [&](std::string_view name, std::string_view value) {
    auto found = all.find(std::string(name));
    return found != all.end() && (value.empty() || found->second.value == value) ? &*found
                                                                                 : nullptr;
  };
  auto add = [&](const auto& one, const auto& other, const std::string& cost) {
    anything = true;
    into.add(survey, {"D14",
                      Severity::warn,
                      fmt::format("{}={} and {}={} contradict each other", one.first,
                                  one.second.value, other.first, other.second.value),
                      {evidence(one.first, one.second), evidence(other.first, other.second)},
                      cost,
                      fmt::format("{} or {}", remedy(one.first, one.second),
                                  remedy(other.first, other.second)),
                      {},
                      {}});
  };
  for (const Contradiction& rule : k_contradictions) {
    const auto* one = set_to(rule.one, rule.one_value);
    const auto* other = set_to(rule.other, rule.other_value);
    if (one != nullptr && other != nullptr)
      add(*one, *other, rule.cost);
  }
  for (auto [least, most] : {std::pair{"NCCL_MIN_CTAS", "NCCL_MAX_CTAS"},
                             std::pair{"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"},
                             std::pair{"NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"}}) {
    const auto* low = set_to(least, "");
    const auto* high = set_to(most, "");
    if (low != nullptr && high != nullptr &&
        workload::read_integer(low->second.value).value >
            workload::read_integer(high->second.value).value)
      add(*low, *high, "NCCL takes the one that it reads last");
  }
}

// Both sides of each value, so that every rank that differs is named.
void check_ranks_agree(const Case& one, Findings& into, bool& anything) {
  std::map<std::string, std::map<std::string, std::vector<int>>> ranks_by_value; // of each name
  std::vector<Variables> by_survey;
  for (const model::Survey& survey : one.surveys) {
    by_survey.push_back(variables_of(one, survey));
    for (const auto& [name, seen] : by_survey.back())
      ranks_by_value[name];
  }
  for (auto& [name, values] : ranks_by_value) {
    for (std::size_t i = 0; i < one.surveys.size(); ++i) {
      auto found = by_survey[i].find(name);
      std::vector<int>& ranks =
          values[found == by_survey[i].end() ? "(not set)" : found->second.value];
      ranks.insert(ranks.end(), one.surveys[i].ranks.begin(), one.surveys[i].ranks.end());
    }
    if (values.size() < 2)
      continue;
    anything = true;
    std::vector<std::string> seen;
    std::vector<int> fewest;
    for (const auto& [value, ranks] : values) {
      seen.push_back(fmt::format("{}: {}", value, ranks_with_host(one, ranks)));
      name_fewer(ranks, fewest);
    }
    bool harmless = model::may_differ_between_ranks(name);
    into.add({"D14",
              harmless ? Severity::info : Severity::fail,
              fmt::format("ranks disagree on {}", name),
              seen,
              harmless ? "nothing, if it is meant: hosts may differ in it"
                       : "ranks that choose differently hang, or deliver wrong data",
              fmt::format("give all ranks the same: mpirun -x {}", name),
              fewest,
              {}});
  }
}

} // namespace

void check_variables(const Case& one, Findings& into) {
  bool anything = false;
  for (const model::Survey& survey : one.surveys) {
    Variables all = variables_of(one, survey);
    check_leftovers(survey, all, into, anything);
    check_names(survey, all, into, anything);
    check_values(survey, all, into, anything);
    check_contradictions(survey, all, into, anything);
    for (const auto& [name, seen] : all)
      if (seen.origin != "the environment") {
        anything = true;
        into.add(survey, {"D14",
                          Severity::info,
                          fmt::format("NCCL reads settings from {}", seen.origin),
                          {evidence(name, seen)},
                          "settings that nobody sees in the environment",
                          "",
                          {},
                          {}});
      }
  }
  check_ranks_agree(one, into, anything);
  if (!anything)
    into.add({"D14",
              Severity::ok,
              "nothing is set that NCCL would not understand, or that slows it down",
              {},
              "",
              "",
              {},
              {}});
}

} // namespace ncclprobe::analysis::doctor
