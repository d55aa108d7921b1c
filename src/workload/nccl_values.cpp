// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_values.h"

#include "base/similar_words.h"
#include "base/split.h"
#include "base/stored_variables.h"
#include "workload/interface_list.h"
#include "workload/nccl_names.h"
#include "workload/nccl_numbers.h"
#include "workload/nccl_selection.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace ncclprobe::workload {
namespace {

using base::same_word;
using base::split;
using model::Setting;

constexpr const char* k_invalid_usage = "every communicator ends with 'invalid usage'";
constexpr const char* k_silent = "without a warning";

// Releases that read words in these values. Before, the values were integers.
constexpr int k_policy_words_since = 22902;
// Since this release an unknown word voids the whole list; before, it was skipped.
constexpr int k_whole_lists_since = 23003;
// Since this release NCCL_NET_PLUGIN is a list; an empty value is a list without plugins.
constexpr int k_plugin_lists_since = 22703;

int version_at(const NcclPlace& place) {
  return place.version.value_or(k_newest_known_nccl);
}

std::string setting_text(std::string_view name, std::string_view value) {
  return model::label_of({{std::string(name), std::string(value)}});
}

std::string_view value_in(const Variables& all, const std::string& name) {
  auto found = all.find(name);
  return found == all.end() ? std::string_view() : found->second;
}

std::optional<bool> is_there(const NcclPlace& place, std::string_view name) {
  auto found = place.looked_for.find(name);
  return found == place.looked_for.end() ? std::nullopt : std::optional(found->second);
}

// Yes if any of them exists; no only if all are known to be missing.
std::optional<bool> any_is_there(const NcclPlace& place, const std::vector<std::string>& names) {
  bool all_known = true;
  for (const std::string& name : names) {
    std::optional<bool> there = is_there(place, name);
    if (there == true)
      return true;
    all_known = all_known && there.has_value();
  }
  return all_known ? std::optional(false) : std::nullopt;
}

// NCCL tries the name itself, then the usual name with this name at its end (plugin_open.cc).
std::vector<std::string> plugin_files(std::string_view prefix, std::string_view name) {
  std::vector<std::string> files{std::string(name)};
  if (name.find('/') == std::string_view::npos)
    files.push_back(fmt::format("{}-{}.so", prefix, name));
  return files;
}

bool needs_no_file(std::string_view plugin) {
  return same_word(plugin, "none") || same_word(plugin, "STATIC_PLUGIN");
}

std::vector<std::string> network_plugin_files(const Variables& all) {
  std::vector<std::string> files{"libnccl-net.so"};
  for (std::string_view plugin : split(value_in(all, "NCCL_NET_PLUGIN"), ','))
    for (const std::string& file : plugin_files("libnccl-net", plugin))
      files.push_back(file);
  return files;
}

// Why a word is unknown, and what NCCL then does.
Judgement unknown_word(const Setting& setting, const Variable& variable, std::string_view word,
                       int version) {
  std::vector<std::string_view> words = legal_words(variable, version);
  Judgement judgement{Reading::misread, "", "", "", ""};
  judgement.why = fmt::format("'{}' is not one of {}", word, fmt::join(words, ", "));
  if (auto since = word_since(variable, word); since && *since > version)
    judgement.why = fmt::format("'{}' needs NCCL {}", word, nccl_version_text(*since));
  judgement.outcome = fmt::format("NCCL continues with {} {}",
                                  variable.otherwise.empty() ? std::string("its default")
                                                             : std::string(variable.otherwise),
                                  k_silent);
  std::string_view nearest = base::most_similar(word, words);
  if (!nearest.empty()) {
    std::string value = setting.value;
    value.replace(value.find(word), word.size(), nearest);
    judgement.better = setting_text(setting.name, value);
  }
  return judgement;
}

Judgement judge_level(const Setting& setting, const Variable& variable, int version) {
  for (std::string_view word : legal_words(variable, version))
    if (word == setting.value)
      return {};
  bool number = std::isdigit(static_cast<unsigned char>(setting.value.front())) != 0;
  if (number && !read_integer(setting.value).whole)
    return {Reading::misread, fmt::format("'{}' is not a number", setting.value),
            fmt::format("NCCL reads it as {} {}", read_integer(setting.value).value, k_silent), "",
            ""};
  if (number)
    return {};
  Judgement judgement = unknown_word(setting, variable, setting.value, version);
  judgement.why += "; capitals matter";
  return judgement;
}

Judgement judge_word(const Setting& setting, const Variable& variable, int version) {
  bool any_case = variable.kind == ValueKind::any_case;
  for (std::string_view word : legal_words(variable, version))
    if (any_case ? same_word(word, setting.value) : word == setting.value)
      return {};
  if (setting.name == "NCCL_NETDEVS_POLICY" && setting.value.size() > 4 &&
      same_word(setting.value.substr(0, 4), "MAX:") &&
      read_integer(setting.value.substr(4)).value > 0)
    return {};
  Judgement judgement = unknown_word(setting, variable, setting.value, version);
  if (!any_case)
    judgement.why += "; capitals matter";
  return judgement;
}

Judgement judge_words(const Setting& setting, const Variable& variable, int version) {
  bool policy = setting.name == "NCCL_CTA_POLICY";
  if (policy && std::isdigit(static_cast<unsigned char>(setting.value.front())) != 0)
    return read_integer(setting.value).value <= 2
               ? Judgement{}
               : Judgement{Reading::misread, "its numbers are 0, 1 and 2",
                           "NCCL continues with DEFAULT", "", ""};
  if (policy && version < k_policy_words_since)
    return judge_integer(setting, variable, version);
  std::string_view list = setting.value;
  if (!policy && list.starts_with('^'))
    list.remove_prefix(1);
  std::vector<std::string_view> words = legal_words(variable, version);
  for (std::string_view one : split(list, policy ? '|' : ',')) {
    if (std::ranges::any_of(words, [&](std::string_view word) { return same_word(word, one); }))
      continue;
    Judgement judgement = unknown_word(setting, variable, one, version);
    judgement.outcome = policy || version < k_whole_lists_since
                            ? fmt::format("NCCL skips the word {}", k_silent)
                            : fmt::format("NCCL ignores the whole list {}", k_silent);
    return judgement;
  }
  return {};
}

Judgement judge_selection(const Setting& setting, const Variable& variable,
                          const NcclPlace& place) {
  auto problem = selection_problem(variable, setting.value, version_at(place));
  if (!problem)
    return {};
  if (place.version > k_newest_known_nccl) // which may know more words
    return {Reading::uncertain, problem->why + " of the newest NCCL known here",
            fmt::format("if it is not new, {}", k_invalid_usage), "", problem->log_words};
  std::string better = problem->better.empty() ? "" : setting_text(setting.name, problem->better);
  return {problem->fatal ? Reading::refused : Reading::misread, problem->why,
          problem->fatal ? k_invalid_usage : "NCCL reports nothing", better, problem->log_words};
}

Judgement judge_network(const Setting& setting, const Variables& all, const NcclPlace& place) {
  const char* log_words = version_at(place) < k_plugin_lists_since
                              ? "Error: network"
                              : "Failed to initialize any NET plugin";
  std::optional<bool> plugin = any_is_there(place, network_plugin_files(all));
  auto refuse = [&](std::string why) {
    return Judgement{Reading::refused, std::move(why), k_invalid_usage,
                     setting_text(setting.name, "Socket"), log_words};
  };
  if (same_word(setting.value, "Socket"))
    return {};
  bool verbs = same_word(setting.value, "IB");
  bool typo = !verbs && plugin != true && base::edits_between(setting.value, "Socket") < 3;
  if (plugin != false && !verbs && !typo)
    return {Reading::uncertain,
            plugin == true ? "it is correct only if the installed plugin has this name"
                           : "it is correct only if a plugin has this name",
            fmt::format("if not, {}", k_invalid_usage), "", log_words};
  if (!verbs)
    return refuse(plugin == false
                      ? fmt::format("NCCL's own networks are IB and Socket, and no network plugin "
                                    "is found ({})",
                                    fmt::join(network_plugin_files(all), ", "))
                      : std::string("NCCL's own networks are IB and Socket"));
  if (plugin == true)
    return {};
  if (read_integer(value_in(all, "NCCL_IB_DISABLE")).value != 0)
    return refuse("NCCL_IB_DISABLE disables IB");
  if (place.has_rdma == false)
    return refuse("there is no RDMA adapter with an active port");
  return {};
}

Judgement judge_plugin(const Setting& setting, const Variable& variable, const NcclPlace& place) {
  std::vector<std::string> missing;
  for (std::string_view name : split(setting.value, ',')) {
    std::vector<std::string> files = plugin_files(variable.words, name);
    if (!needs_no_file(name) && any_is_there(place, files) == false)
      missing.insert(missing.end(), files.begin(), files.end());
  }
  if (missing.empty())
    return {};
  return {Reading::misread, fmt::format("no library is found ({})", fmt::join(missing, ", ")),
          "NCCL continues without it, and reports that only in INFO lines", "", "Could not find"};
}

Judgement judge_file(const Setting& setting, const NcclPlace& place) {
  if (is_there(place, setting.value) != false)
    return {};
  if (setting.name == "NCCL_GRAPH_FILE")
    return {Reading::refused, "there is no such file",
            "every communicator ends with 'unhandled system error'", "",
            "Could not open XML graph file"};
  return {Reading::misread, "there is no such file", "NCCL continues without it", "",
          "Could not open XML topology file"};
}

Judgement judge_interfaces(const Setting& setting, const NcclPlace& place) {
  if (setting.value.size() < 2)
    return {Reading::unset, "NCCL ignores names of one letter", "", "", ""};
  if (!place.interfaces || std::ranges::any_of(*place.interfaces, [&](const std::string& one) {
        return matches_interface_list(setting.value, one);
      }))
    return {};
  std::vector<std::string_view> names(place.interfaces->begin(), place.interfaces->end());
  std::string_view nearest = base::most_similar(setting.value, names);
  return {Reading::refused,
          fmt::format("no network interface has this name (there are {})", fmt::join(names, ", ")),
          "NCCL does not start: 'no socket interface found'",
          nearest.empty() ? "" : setting_text(setting.name, nearest), "no socket interface found"};
}

Judgement judge_address(const Setting& setting) {
  bool ipv6 = setting.value.starts_with('[');
  bool broken = setting.value.size() < 2 || (ipv6 && setting.value.find(']') == std::string::npos);
  if (setting.name != "NCCL_COMM_ID")
    return {};
  if (broken)
    return {Reading::refused, "it is not HOST:PORT", "NCCL does not start: 'invalid argument'", "",
            "Invalid NCCL_COMM_ID"};
  std::size_t end = ipv6 ? setting.value.find(']') : 0;
  if (setting.value.find(':', end) == std::string::npos)
    return {Reading::uncertain, "it names no port", "NCCL picks one", "", ""};
  return {};
}

// Some variables treat an empty value as a name.
Judgement judge_empty(const Setting& setting, const Variable& variable, int version) {
  const std::string& name = setting.name;
  auto refused = [](const char* outcome, const char* words) {
    return Judgement{Reading::refused, "an empty value counts as a name", outcome, "", words};
  };
  auto misread = [](const char* outcome) {
    return Judgement{Reading::misread, "an empty value counts as a name", outcome, "", ""};
  };
  if (variable.kind == ValueKind::network_name)
    return refused(k_invalid_usage, "NET plugin");
  if (name == "NCCL_COMM_ID")
    return refused("NCCL does not start: 'invalid argument'", "Invalid NCCL_COMM_ID");
  if (name == "NCCL_GRAPH_FILE")
    return refused("every communicator ends with 'unhandled system error'",
                   "Could not open XML graph file");
  if (name == "NCCL_TOPO_FILE")
    return misread("NCCL does not read its usual file (virtualTopology.xml) either");
  if (name == "NCCL_HOSTID")
    return misread("all hosts with it count as one");
  if (name == "NCCL_DEBUG_SUBSYS")
    return misread("no subsystem logs");
  if (name == "NCCL_NET_MERGE_LEVEL")
    return misread("NCCL continues with LOC");
  if (variable.kind == ValueKind::plugin && version >= k_plugin_lists_since &&
      (name == "NCCL_NET_PLUGIN" || name == "NCCL_GIN_PLUGIN" || name == "NCCL_RMA_PLUGIN"))
    return misread("NCCL continues without plugins");
  return {Reading::unset, "NCCL takes an empty value as not set", "", "", ""};
}

Judgement judge_value(const Setting& setting, const Variable& variable, const Variables& all,
                      const NcclPlace& place) {
  int version = version_at(place);
  if (setting.value.empty())
    return judge_empty(setting, variable, version);
  if (reads_integer(variable, version))
    return judge_integer(setting, variable, version);
  switch (variable.kind) {
  case ValueKind::flag:
    return judge_flag(setting);
  case ValueKind::level:
    return judge_level(setting, variable, version);
  case ValueKind::word:
  case ValueKind::any_case:
    return judge_word(setting, variable, version);
  case ValueKind::words:
    return judge_words(setting, variable, version);
  case ValueKind::algorithms:
  case ValueKind::protocols:
    return judge_selection(setting, variable, place);
  case ValueKind::network_name:
    return judge_network(setting, all, place);
  case ValueKind::plugin:
    return judge_plugin(setting, variable, place);
  case ValueKind::file:
    return judge_file(setting, place);
  case ValueKind::interfaces:
    return judge_interfaces(setting, place);
  case ValueKind::address:
    return judge_address(setting);
  default:
    return {};
  }
}

Judgement judge_unknown(const Setting& setting, const NameJudgement& name) {
  std::string better = name.better;
  const bool known = setting.value != base::k_value_not_stored;
  if (!better.empty() && !name.inverse && known)
    better = setting_text(better, setting.value);
  else if (!better.empty() && (setting.value == "0" || setting.value == "1"))
    better = setting_text(better, setting.value == "0" ? "1" : "0");
  switch (name.kind) {
  case NameKind::not_read:
  case NameKind::mistaken:
    return {Reading::unread, name.why, "it has no effect", better, ""};
  case NameKind::misspelt:
    return {Reading::misspelt, name.why, "it has no effect", better, ""};
  case NameKind::foreign:
    return {Reading::uncertain, name.why, "without that it has no effect", "", ""};
  case NameKind::similar:
    return {Reading::uncertain, name.why, "nothing reads it, unless a plugin does", "", ""};
  case NameKind::unknown:
    return {Reading::uncertain, "NCCL reads no such name", "nothing reads it, unless a plugin does",
            "", ""};
  default:
    return {};
  }
}

} // namespace

Judgement judge(const Setting& setting, const Variables& all, const NcclPlace& place) {
  NameJudgement name = judge_name(setting.name, version_at(place));
  const Variable* variable = find_variable(setting.name);
  return name.kind == NameKind::known && variable != nullptr
             ? judge_value(setting, *variable, all, place)
             : judge_unknown(setting, name);
}

std::string headline(const Setting& setting, const Judgement& judgement, const NcclPlace& place) {
  std::string nccl = place.version ? "NCCL " + nccl_version_text(*place.version)
                                   : fmt::format("NCCL (judged by {}, the newest known here)",
                                                 nccl_version_text(k_newest_known_nccl));
  if (!place.host.empty())
    nccl += " on " + place.host;
  if (setting.name.starts_with(k_own_prefix))
    nccl = "ncclprobe";
  std::string whole = setting_text(setting.name, setting.value);
  switch (judgement.reading) {
  case Reading::refused:
    return fmt::format("{} refuses {}: {}", nccl, whole, judgement.why);
  case Reading::misread:
  case Reading::limited:
    return fmt::format("{} does not accept {} as written: {}", nccl, whole, judgement.why);
  case Reading::unread:
    return fmt::format("{} does not read {}: {}", nccl, setting.name, judgement.why);
  case Reading::misspelt:
    return fmt::format("{} does not read {}, which is probably misspelt: {}", nccl, setting.name,
                       judgement.why);
  case Reading::uncertain:
  case Reading::unset:
    return fmt::format("{}: {}", whole, judgement.why);
  default:
    return "";
  }
}

std::string describe(const Setting& setting, const Judgement& judgement, const NcclPlace& place) {
  std::string text = headline(setting, judgement, place);
  if (!judgement.outcome.empty())
    text += "; " + judgement.outcome;
  if (!judgement.better.empty())
    text += fmt::format("; did you mean {}?", judgement.better);
  return text;
}

bool can_be_overridden(const std::string& name) {
  const Variable* variable = find_variable(name);
  return variable == nullptr ||
         (variable->kind != ValueKind::algorithms && variable->kind != ValueKind::protocols);
}

std::vector<std::string> names_to_look_for(const Setting& setting, const Variables& all) {
  const Variable* variable = find_variable(setting.name);
  if (variable == nullptr || setting.value.empty())
    return {};
  if (variable->kind == ValueKind::file)
    return {setting.value};
  if (variable->kind == ValueKind::network_name)
    return network_plugin_files(all);
  std::vector<std::string> names;
  if (variable->kind == ValueKind::plugin)
    for (std::string_view name : split(setting.value, ','))
      if (!needs_no_file(name))
        for (std::string& file : plugin_files(variable->words, name))
          names.push_back(std::move(file));
  return names;
}

} // namespace ncclprobe::workload
