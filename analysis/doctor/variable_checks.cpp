// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D14: NCCL's variables, from the environment and from its files.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "workload/nccl_values.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

using workload::find_variable;

// A variable as NCCL gets it, and its source.
struct Seen {
  std::string value;
  std::string origin; // "the environment", "/etc/nccl.conf"
};
using Variables = std::map<std::string, Seen>;

// The environment has priority, then the first file that names it.
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

std::string undo(const std::string& name, const Seen& seen) {
  return seen.origin == "the environment" ? "unset " + name
                                          : fmt::format("remove {} from {}", name, seen.origin);
}

std::string evidence(const std::string& name, const Seen& seen) {
  return fmt::format("{}={} in {}", name, seen.value, seen.origin);
}

// Switches that people set for debugging and forget.
struct Leftover {
  std::string_view name;
  std::string_view value; // "": any
  const char* cost;
  CheckStatus status;
  const char* shows_as = ""; // words in the evidence of its consequences
};
constexpr const char* k_not_direct = ": via "; // transport other than P2P
constexpr Leftover k_leftovers[] = {
    {"NCCL_P2P_DISABLE", "1",
     "GPUs exchange data through host memory, or the network, instead of NVLink or PCIe",
     CheckStatus::warn, k_not_direct},
    {"NCCL_SHM_DISABLE", "1", "ranks on one host without P2P communicate over the network",
     CheckStatus::warn},
    {"NCCL_IB_DISABLE", "1", "RDMA adapters are not used: TCP between hosts", CheckStatus::warn,
     "network Socket"},
    {"NCCL_NVLS_ENABLE", "0", "no reduction in the switch: all-reduce is slower",
     CheckStatus::info},
    {"NCCL_CUMEM_ENABLE", "0", "no NVLS, no registered buffers over cuMem", CheckStatus::info},
    {"NCCL_DEBUG", "TRACE", "NCCL logs every call: higher latency", CheckStatus::warn},
    {"NCCL_DEBUG", "INFO", "NCCL logs its start: low cost, large logs", CheckStatus::info},
    {"NCCL_CHECK_POINTERS", "1",
     "NCCL asks the driver about the pointers of every call: higher latency", CheckStatus::warn},
    {"NCCL_LAUNCH_MODE", "GROUP", "cooperative launches: slower, and deprecated",
     CheckStatus::warn},
    {"NCCL_NET_GDR_LEVEL", "LOC", "no GPUDirect RDMA", CheckStatus::warn},
    {"NCCL_P2P_LEVEL", "LOC", "no P2P between GPUs", CheckStatus::warn, k_not_direct},
    {"NCCL_RUNTIME_CONNECT", "0", "NCCL sets up all connections at the start: slower, more memory",
     CheckStatus::info},
    {"NCCL_ALGO", "", "NCCL can no longer choose by size: best at one size, worse at others",
     CheckStatus::info},
    {"NCCL_PROTO", "",
     "NCCL can no longer choose by size; LL128 corrupts data where NCCL would not use it",
     CheckStatus::info},
    {"NCCL_TOPO_FILE", "", "NCCL uses this file instead of the real topology", CheckStatus::info},
    {"NCCL_GRAPH_FILE", "", "NCCL uses these rings instead of searching for the best",
     CheckStatus::warn},
};

// `bad`: names that other findings cover.
void check_leftovers(const model::Survey& survey, const Variables& all,
                     const std::set<std::string>& bad, CheckResults& into, bool& anything) {
  for (const Leftover& leftover : k_leftovers) {
    auto found = all.find(std::string(leftover.name));
    if (found == all.end() || bad.contains(found->first) ||
        (!leftover.value.empty() && found->second.value != leftover.value))
      continue;
    anything = true;
    CheckResult finding{"D14",
                        leftover.status,
                        What("variable_set", "{variable}={value} is set",
                             {{"variable", found->first},
                              {"value", found->second.value},
                              {"undo", undo(found->first, found->second)}}),
                        {evidence(found->first, found->second)},
                        leftover.cost,
                        "{undo}"};
    if (*leftover.shows_as != '\0')
      finding.shows_as = {leftover.shows_as};
    into.add(survey, std::move(finding));
  }
}

CheckStatus status_of(const workload::Judgement& judgement, const std::string& name,
                      const workload::NcclPlace& place) {
  using enum workload::Reading;
  switch (judgement.reading) {
  case refused: // the installed NCCL does not read it, so nothing fails
    return place.version ? CheckStatus::fail : CheckStatus::warn;
  case uncertain: // names may be a plugin's
    return find_variable(name) != nullptr ? CheckStatus::warn : CheckStatus::info;
  case unset:
    return CheckStatus::info;
  default:
    return CheckStatus::warn;
  }
}

// The variable that was probably meant. Only advice that the evidence supports.
Words fix_of(const std::string& name, const Seen& seen, const std::string& better) {
  if (better.empty())
    return "{undo}";
  if (seen.origin != "the environment")
    return "{undo}, or write {better} there";
  if (better.find('=') == std::string::npos) // the value is unknown
    return "set {better} instead, and {undo}";
  return better.starts_with(name + "=") ? "export {better}, or {undo}"
                                        : "export {better}, and {undo}";
}

bool nccl_ran(const Case& one) {
  return std::any_of(one.smoke_tests.begin(), one.smoke_tests.end(), [](const SmokeTest& each) {
    return each.backend == "nvidia" && each.name != k_copies && each.outcome.ok();
  });
}

// Names that NCCL does not read as they are.
std::set<std::string> check_values_of(const Case& one, const model::Survey& survey,
                                      const Variables& all, CheckResults& into, bool& anything) {
  std::set<std::string> bad;
  workload::NcclPlace place = nccl_place(one, survey);
  workload::Variables environment;
  for (const auto& [name, seen] : all)
    environment[name] = seen.value;
  for (const auto& [name, seen] : all) {
    const model::Setting setting{name, seen.value};
    workload::Judgement judgement = workload::judge(setting, environment, place);
    if (judgement.reading == workload::Reading::as_meant)
      continue;
    anything = true;
    if (judgement.reading >= workload::Reading::misread)
      bad.insert(name);
    CheckResult finding{"D14",
                        status_of(judgement, name, place),
                        What("variable_misread", "{judgement}",
                             {{"judgement", workload::headline(setting, judgement, place)},
                              {"variable", name},
                              {"value", seen.value},
                              {"reading", judgement.reading},
                              {"outcome", judgement.outcome},
                              {"better", judgement.better},
                              {"undo", undo(name, seen)}}),
                        {evidence(name, seen)},
                        "{outcome}",
                        fix_of(name, seen, judgement.better)};
    if (finding.status == CheckStatus::info) // a plugin may read it
      finding.fix = {};
    if (finding.status == CheckStatus::fail && nccl_ran(one)) { // the table must be wrong
      finding.status = CheckStatus::warn;
      finding.evidence.push_back("yet an all-reduce ran: a plugin may have accepted it");
    }
    if (!judgement.log_words.empty())
      finding.shows_as = {judgement.log_words};
    into.add(survey, std::move(finding));
  }
  return bad;
}

// Pairs that contradict each other.
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
    {"NCCL_NET", "Socket", "NCCL_IB_HCA", "",
     "the list of adapters has no effect: sockets are used"},
    {"NCCL_CUMEM_ENABLE", "0", "NCCL_NVLS_ENABLE", "1",
     "NVLS needs cuMem: NCCL fails or runs without NVLS"},
    {"NCCL_DEBUG_SUBSYS", "", "NCCL_DEBUG", "WARN", "subsystems only filter INFO lines"},
    {"NCCL_P2P_DISABLE", "1", "NCCL_SHM_DISABLE", "1",
     "ranks on one host communicate over the network"},
};

void check_contradictions(const model::Survey& survey, const Variables& all, CheckResults& into,
                          bool& anything) {
  auto set_to = [&](std::string_view name, std::string_view value) {
    auto found = all.find(std::string(name));
    return found != all.end() && (value.empty() || found->second.value == value) ? &*found
                                                                                 : nullptr;
  };
  auto add = [&](const auto& one, const auto& other, const Words& cost) {
    anything = true;
    into.add(survey, {"D14",
                      CheckStatus::warn,
                      What("variables_contradict",
                           "{one}={one_value} and {other}={other_value} contradict each other",
                           {{"one", one.first},
                            {"one_value", one.second.value},
                            {"other", other.first},
                            {"other_value", other.second.value},
                            {"undo_one", undo(one.first, one.second)},
                            {"undo_other", undo(other.first, other.second)}}),
                      {evidence(one.first, one.second), evidence(other.first, other.second)},
                      cost,
                      "{undo_one} or {undo_other}"});
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
      add(*low, *high, "NCCL uses the one that it reads last");
  }
}

// Both groups of each value, to name every rank that differs.
void check_ranks_agree(const Case& one, CheckResults& into, bool& anything) {
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
    bool read = find_variable(name) != nullptr;
    bool harmless = model::may_differ_between_ranks(name) || !read;
    into.add({"D14", harmless ? CheckStatus::info : CheckStatus::fail,
              What("variable_differs", "ranks disagree on {variable}", {{"variable", name}}), seen,
              !read      ? "none: NCCL does not read it"
              : harmless ? "none, if intended: hosts may differ in it"
                         : "ranks that choose differently hang, or deliver wrong data",
              read ? "give all ranks the same value: mpirun -x {variable}" : "", fewest});
  }
}

// A plugin whose file is missing is among the names that other findings cover (`bad`).
void check_tuner(const model::Survey& survey, const std::set<std::string>& bad, CheckResults& into,
                 bool& anything) {
  if (!survey.process.tuner)
    return;
  const model::TriedTuner& tried = *survey.process.tuner;
  if (!tried.problem.empty() && !bad.contains("NCCL_TUNER_PLUGIN")) {
    anything = true;
    into.add(survey,
             {"D14",
              CheckStatus::fail,
              What("tuner_not_loaded", "NCCL cannot load the tuner plugin {plugin}",
                   {{"plugin", tried.plugin}}),
              {tried.problem},
              "NCCL goes on without it; ranks that choose differently hang, or deliver wrong data",
              "install {plugin} on this host, or unset NCCL_TUNER_PLUGIN on all ranks"});
  }
  if (!tried.table_problem.empty()) {
    anything = true;
    into.add(survey, {"D14",
                      CheckStatus::fail,
                      What("tuner_table", "the tuner plugin cannot use its table"),
                      {tried.table_problem},
                      "this rank creates no communicator",
                      "give all ranks the variable and the file: ncclprobe tuner check TABLE"});
  }
}

} // namespace

void check_variable_values(const Case& one, CheckResults& into) {
  bool anything = false;
  for (const model::Survey& survey : one.surveys)
    check_values_of(one, survey, variables_of(one, survey), into, anything);
}

void check_variables(const Case& one, CheckResults& into) {
  bool anything = false;
  for (const model::Survey& survey : one.surveys) {
    Variables all = variables_of(one, survey);
    std::set<std::string> bad = check_values_of(one, survey, all, into, anything);
    check_leftovers(survey, all, bad, into, anything);
    check_tuner(survey, bad, into, anything);
    check_contradictions(survey, all, into, anything);
    for (const auto& [name, seen] : all)
      if (seen.origin != "the environment") {
        anything = true;
        into.add(survey, {"D14",
                          CheckStatus::info,
                          What("settings_from_file", "NCCL reads settings from {file}",
                               {{"file", seen.origin}}),
                          {evidence(name, seen)},
                          "these settings are not visible in the environment"});
      }
  }
  check_ranks_agree(one, into, anything);
  if (!anything)
    into.add(
        {"D14", CheckStatus::ok, {"variables_fine", "no setting is invalid or slows NCCL down"}});
}

} // namespace ncclprobe::analysis::doctor
