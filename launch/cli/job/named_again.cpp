// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/named_again.h"

#include "workload/models/model_file.h"
#include "workload/nccl_names.h"
#include "workload/nccl_variables.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace ncclprobe::cli {
namespace {

// One value that an option of the command line can name.
struct Named {
  const char* option;
  std::string name; // of the variable or library; empty: none
  std::string value;
  int rank = -1; // of --rank-set

  auto key() const { return std::tuple(std::string_view(option), name, value, rank); }
  bool operator<(const Named& other) const { return key() < other.key(); }
};

// Variables whose values are harmless words: no library reads a path, a program or an address from
// them.
constexpr std::array<std::string_view, 13> k_mere_values{
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "GLOO_SOCKET_IFNAME",
    "NCCL_CTA_POLICY",
    "NCCL_HOSTID",
    "NCCL_IB_HCA",
    "NCCL_SOCKET_IFNAME",
    "NCCL_THREAD_THRESHOLDS",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
};

bool is_mere_value(const std::string& variable) {
  if (std::ranges::find(k_mere_values, variable) != k_mere_values.end() ||
      workload::is_own_variable(variable))
    return true;
  using enum workload::ValueKind;
  constexpr std::array k_kinds{boolean,  integer, flag,       level,    word,
                               any_case, words,   algorithms, protocols};
  const workload::Variable* known = workload::find_variable(variable);
  return known != nullptr && std::ranges::find(k_kinds, known->kind) != k_kinds.end();
}

bool must_be_named(const Named& one) {
  const std::string_view option = one.option;
  if (option == "--set" || option == "--rank-set")
    return !is_mere_value(one.name);
  if (option == "--model")
    return workload::is_model_file(one.value);
  return !one.value.empty(); // a library without a path is the one that the loader finds anyway
}

std::set<Named> all_of(const RunOptions& options) {
  std::set<Named> all;
  for (const model::Setting& library : options.libraries)
    all.insert({"--library", library.name, library.value});
  for (const workload::Axis& library : options.compared_libraries)
    for (const std::string& path : library.values)
      all.insert({"--compare-library", library.name, path});
  for (const workload::Axis& axis : options.axes)
    for (const std::string& value : axis.values)
      all.insert({"--set", axis.name, value});
  for (const auto& combination : options.settings)
    for (const model::Setting& one : combination)
      all.insert({"--set", one.name, one.value});
  for (const auto& [rank, settings] : options.per_rank)
    for (const model::Setting& one : settings)
      all.insert({"--rank-set", one.name, one.value, rank});
  if (options.workload.model)
    all.insert({"--model", "", *options.workload.model});
  return all;
}

std::set<Named> only_what_must_be_named(std::set<Named> all) {
  std::erase_if(all, [](const Named& one) { return !must_be_named(one); });
  return all;
}

std::set<Named> without(std::set<Named> all, const std::set<Named>& others) {
  std::erase_if(all, [&](const Named& one) { return others.contains(one); });
  return all;
}

// Quotes a text for a shell. Anything but plain ASCII is written in digits, so that no bytes of an
// untrusted file reach the terminal unchanged.
std::string quoted(const std::string& text) {
  constexpr std::string_view k_plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_@%+=:,./-[]";
  if (!text.empty() && text.find_first_not_of(k_plain) == std::string::npos)
    return text;
  const bool printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  std::string result = printable ? "'" : "$'";
  for (char c : text)
    if (!printable && (c < ' ' || c > '~'))
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (c == '\'')
      result += printable ? "'\\''" : "\\'";
    else if (c == '\\' && !printable)
      result += "\\\\";
    else
      result += c;
  return result + "'";
}

// Joins the values of one name into one list, and the ranks of one value into one range.
std::vector<std::string> as_options(const std::set<Named>& all) {
  std::map<std::pair<std::string_view, std::string>, std::string> lists; // by option and name
  std::map<std::pair<std::string, std::string>, std::vector<int>> ranks; // by name and value
  std::vector<std::string> words;
  for (const Named& one : all) {
    const std::string_view option = one.option;
    if (option == "--rank-set") {
      ranks[{one.name, one.value}].push_back(one.rank);
    } else if (option == "--set" || option == "--compare-library") {
      std::string& list = lists[{option, one.name}];
      list += (list.empty() ? "" : ",") + bracketed_list({one.value});
    } else {
      words.push_back(fmt::format(
          "{} {}", option, quoted(one.name.empty() ? one.value : one.name + "=" + one.value)));
    }
  }
  for (const auto& [what, list] : lists)
    words.push_back(fmt::format("{} {}", what.first, quoted(what.second + "=" + list)));
  for (const auto& [what, of] : ranks)
    for (auto first = of.begin(); first != of.end();) {
      auto last = first;
      while (last + 1 != of.end() && *(last + 1) == *last + 1)
        ++last;
      const std::string range =
          first == last ? std::to_string(*first) : fmt::format("{}-{}", *first, *last);
      words.push_back(
          fmt::format("--rank-set {}", quoted(range + ":" + what.first + "=" + what.second)));
      first = last + 1;
    }
  return words;
}

} // namespace

std::string options_to_name(const RunOptions& plan) {
  std::string text;
  for (const std::string& option : as_options(only_what_must_be_named(all_of(plan))))
    text += " " + option;
  return text;
}

Result<void> check_named(const std::string& run_file, const RunOptions& plan,
                         const RunOptions& said) {
  const std::set<Named> in_plan = all_of(plan);
  const std::set<Named> named = all_of(said);
  if (const std::set<Named> foreign = without(named, in_plan); !foreign.empty())
    return fail(Errc::invalid_argument, "{} cannot be changed: the run continues as it began",
                as_options(foreign).front());
  const std::set<Named> missing = without(only_what_must_be_named(in_plan), named);
  if (missing.empty())
    return {};
  return fail(Error{
      Errc::invalid_argument,
      fmt::format("{} names files to load or start. ncclprobe does not load or start files at the "
                  "request of a data file alone:\n  {}\n",
                  run_file, fmt::join(as_options(missing), "\n  ")),
      fmt::format("if you trust it, name it: `ncclprobe --resume {}{}`", quoted(run_file),
                  options_to_name(plan))});
}

void drop_named(RunOptions& said) {
  said.libraries.clear();
  said.compared_libraries.clear();
  said.axes.clear();
  said.settings.clear();
  said.per_rank.clear();
  said.workload.model.reset();
}

} // namespace ncclprobe::cli
